// A client of Rust's crate secret-service, in plain and encrypted sessions. Prints what it gets.
use secret_service::{EncryptionType, SecretService};
use std::collections::HashMap;

fn session(encryption: EncryptionType) -> Result<(), Box<dyn std::error::Error>> {
    let service = SecretService::new(encryption)?;
    let collection = service.get_default_collection()?;
    println!("{} {}", collection.get_label()?, collection.is_locked()?);
    let attributes = HashMap::from([("a", "1"), ("b", "2")]);
    let item = collection.create_item("label", attributes.clone(), b"first", true, "text/plain")?;
    item.set_secret(b"second\n\0", "text/plain")?;
    println!("{:?} {} {}", item.get_secret()?, item.get_label()?, item.get_secret_content_type()?);
    let mut seen: Vec<_> = item.get_attributes()?.into_iter().filter(|(name, _)| name != "xdg:schema").collect();
    seen.sort();
    println!("{seen:?}");
    println!("{} {}", service.search_items(vec![("a", "1"), ("b", "2")])?.len(), collection.search_items(attributes)?.len());
    collection.unlock()?;
    item.unlock()?;
    item.delete()?;
    println!("{}", collection.search_items(HashMap::from([("a", "1")]))?.len());
    Ok(())
}

fn more() -> Result<(), Box<dyn std::error::Error>> {
    let service = SecretService::new(EncryptionType::Dh)?;
    let collection = service.get_default_collection()?;
    let item = collection.create_item("label", HashMap::new(), b"x", true, "text/plain; charset=utf8")?;
    println!("{}", item.get_secret_content_type()?);
    println!("{}", service.create_collection("Made", "")?.get_label()?);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().len() > 1 {
        return more();
    }
    session(EncryptionType::Plain)?;
    session(EncryptionType::Dh)
}
