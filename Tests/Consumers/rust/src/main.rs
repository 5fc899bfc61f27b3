// Saves, loads and clears through the default stack.
use std::ffi::{c_char, c_void, CStr, CString};
use std::ptr::{null, null_mut};

extern "C" {
    fn tokenkeep_open(options: *const c_void, store: *mut *mut c_void, error: *mut *mut c_void) -> i32;
    fn tokenkeep_close(store: *mut c_void);
    fn tokenkeep_save(
        store: *mut c_void, service: *const c_char, account: *const c_char, secret: *const c_void, length: usize,
        options: *const c_void, error: *mut *mut c_void,
    ) -> i32;
    fn tokenkeep_load(
        store: *mut c_void, service: *const c_char, account: *const c_char, item: *mut *mut c_void,
        error: *mut *mut c_void,
    ) -> i32;
    fn tokenkeep_clear(
        store: *mut c_void, service: *const c_char, account: *const c_char, error: *mut *mut c_void,
    ) -> i32;
    fn tokenkeep_item_secret(item: *const c_void, length: *mut usize) -> *const c_char;
    fn tokenkeep_item_free(item: *mut c_void);
}

fn main() {
    let service = CString::new("rust.example").expect("no NUL");
    let account = CString::new("ann").expect("no NUL");
    let (mut store, mut item, mut error) = (null_mut(), null_mut(), null_mut());
    unsafe {
        assert_eq!(tokenkeep_open(null(), &mut store, &mut error), 0);
        let secret = b"s3cr3t";
        assert_eq!(
            tokenkeep_save(
                store, service.as_ptr(), account.as_ptr(), secret.as_ptr().cast(), secret.len(), null(), &mut error
            ),
            0
        );
        assert_eq!(tokenkeep_load(store, service.as_ptr(), account.as_ptr(), &mut item, &mut error), 0);
        println!("{}", CStr::from_ptr(tokenkeep_item_secret(item, null_mut())).to_string_lossy());
        tokenkeep_item_free(item);
        assert_eq!(tokenkeep_clear(store, service.as_ptr(), account.as_ptr(), &mut error), 0);
        tokenkeep_close(store);
    }
}
