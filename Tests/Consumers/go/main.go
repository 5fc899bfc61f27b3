// Saves, loads and clears through the default stack.
package main

/*
#cgo pkg-config: tokenkeep
#include <stdlib.h>
#include <tokenkeep.h>
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

func check(status C.tokenkeep_status, failure *C.tokenkeep_error) {
	if status != 0 {
		fmt.Fprintln(os.Stderr, C.GoString(C.tokenkeep_error_message(failure)))
		os.Exit(1)
	}
}

func main() {
	service, account, secret := C.CString("go.example"), C.CString("ann"), C.CString("s3cr3t")
	defer C.free(unsafe.Pointer(service))
	defer C.free(unsafe.Pointer(account))
	defer C.free(unsafe.Pointer(secret))
	var store *C.tokenkeep_store
	var item *C.tokenkeep_item
	var failure *C.tokenkeep_error
	check(C.tokenkeep_open(nil, &store, &failure), failure)
	defer C.tokenkeep_close(store)
	check(C.tokenkeep_save(store, service, account, unsafe.Pointer(secret), 6, nil, &failure), failure)
	check(C.tokenkeep_load(store, service, account, &item, &failure), failure)
	fmt.Println(C.GoString((*C.char)(unsafe.Pointer(C.tokenkeep_item_secret(item, nil)))))
	C.tokenkeep_item_free(item)
	check(C.tokenkeep_clear(store, service, account, &failure), failure)
}
