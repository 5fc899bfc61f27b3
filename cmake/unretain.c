/* Lets the linker drop code of an archive that nothing calls: clears SHF_GNU_RETAIN of the sections of code
 * of its objects, which Swift's compiler sets for all that is public. What metadata and code refer to stays.
 * The metadata's sections keep the flag, for the runtime finds them without a reference.
 *
 * Usage: unretain FILE NEW      FILE: an archive or an object, ELF of 64 bits in this machine's byte order;
 * all else is copied */
#include <ar.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SHF_GNU_RETAIN
#define SHF_GNU_RETAIN (1U << 21)
#endif

static void unretain(unsigned char *object, size_t size) {
    Elf64_Ehdr head;
    if (size < sizeof head)
        return;
    memcpy(&head, object, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return;
    if (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > size - sizeof(Elf64_Shdr))
        return;
    Elf64_Shdr section;
    memcpy(&section, object + head.e_shoff, sizeof section);
    /* An object with more sections than e_shnum can tell has their number in the first. */
    size_t count = head.e_shnum != 0 ? head.e_shnum : section.sh_size;
    if (count > (size - head.e_shoff) / sizeof section)
        return;
    for (size_t i = 1; i < count; i++) {
        unsigned char *place = object + head.e_shoff + i * sizeof section;
        memcpy(&section, place, sizeof section);
        if ((section.sh_flags & SHF_EXECINSTR) == 0)
            continue;
        section.sh_flags &= ~(Elf64_Xword)SHF_GNU_RETAIN;
        memcpy(place, &section, sizeof section);
    }
}

static void unretain_members(unsigned char *archive, size_t size) {
    size_t at = SARMAG;
    while (size - at >= sizeof(struct ar_hdr)) {
        struct ar_hdr header;
        memcpy(&header, archive + at, sizeof header);
        at += sizeof header;
        char digits[sizeof header.ar_size + 1] = "";
        memcpy(digits, header.ar_size, sizeof header.ar_size);
        size_t length = strtoul(digits, NULL, 10);
        if (length > size - at)
            return;
        unretain(archive + at, length);
        at += length;
        if (length % 2 != 0 && at < size)
            at++;
    }
}

static unsigned char *read_all(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    unsigned char *bytes = NULL;
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end > SARMAG && (bytes = malloc((size_t)end)) != NULL) {
        rewind(file);
        *size = fread(bytes, 1, (size_t)end, file);
        if (*size != (size_t)end) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: unretain FILE NEW\n");
        return 2;
    }
    size_t size = 0;
    unsigned char *bytes = read_all(argv[1], &size);
    if (bytes == NULL) {
        fprintf(stderr, "unretain: %s cannot be read\n", argv[1]);
        return 1;
    }
    if (memcmp(bytes, ARMAG, SARMAG) == 0)
        unretain_members(bytes, size);
    else
        unretain(bytes, size);
    FILE *to = fopen(argv[2], "wb");
    bool written = to != NULL && fwrite(bytes, 1, size, to) == size;
    if (to == NULL || fclose(to) != 0 || !written) {
        fprintf(stderr, "unretain: %s cannot be written\n", argv[2]);
        return 1;
    }
    free(bytes);
    return 0;
}
