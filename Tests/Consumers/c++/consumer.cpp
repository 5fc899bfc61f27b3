// Saves, loads and clears through the default stack.
#include <iostream>
#include <memory>
#include <tokenkeep.h>

int main() {
    tokenkeep_store *opened = nullptr;
    tokenkeep_item *loaded = nullptr;
    tokenkeep_error *error = nullptr;
    if (tokenkeep_open(nullptr, &opened, &error) != TOKENKEEP_OK)
        return 1;
    std::unique_ptr<tokenkeep_store, decltype(&tokenkeep_close)> store(opened, tokenkeep_close);
    if (tokenkeep_save(store.get(), "c++.example", "ann", "s3cr3t", 6, nullptr, &error) != TOKENKEEP_OK ||
        tokenkeep_load(store.get(), "c++.example", "ann", &loaded, &error) != TOKENKEEP_OK)
        return 2;
    std::unique_ptr<tokenkeep_item, decltype(&tokenkeep_item_free)> item(loaded, tokenkeep_item_free);
    std::cout << static_cast<const char *>(tokenkeep_item_secret(item.get(), nullptr)) << '\n';
    return tokenkeep_clear(store.get(), "c++.example", "ann", &error) == TOKENKEEP_OK ? 0 : 3;
}
