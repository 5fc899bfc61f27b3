# How the programs are linked: like the library (link-library.sh), so that they need libsodium and the C library alone, and
# nothing that calls go through stays writable.

# A directory that has the archive alone comes before the system's: -lstdc++ stands in the toolchain's own arguments.
set(static_directory ${PROJECT_BINARY_DIR}/static)
file(MAKE_DIRECTORY ${static_directory})
set(archives "")
foreach(name stdc++ argon2 jansson)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=lib${name}.a
        OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(EXISTS ${path})
        file(CREATE_LINK ${path} ${static_directory}/lib${name}.a SYMBOLIC)
        string(APPEND archives ",${name}")
    endif()
endforeach()
# SwiftPM puts the system's directory first: Package.swift names the archives of argon2 and jansson itself. To load the two
# shared libraries would take a tenth of each start.
list(INSERT swift_build 3 TOKENKEEP_ARCHIVES=${archives})

set(program_linking
    -Xswiftc -use-ld=lld -Xswiftc -L${static_directory}
    -Xswiftc -Xclang-linker -Xswiftc -static-libgcc
    -Xlinker --gc-sections -Xlinker --icf=all -Xlinker --as-needed
    -Xlinker -T -Xlinker ${PROJECT_SOURCE_DIR}/cmake/same-anywhere.lds
    # Three megabytes less: nothing is exported, for modules link nothing of ours; no tables for unwinding; no names of
    # characters; no zeros.
    -Xlinker --no-export-dynamic
    -Xlinker --no-eh-frame-hdr -Xlinker -T -Xlinker ${PROJECT_SOURCE_DIR}/cmake/no-unwinding.lds
    -Xlinker --defsym=_swift_stdlib_getScalarName=tokenkeep_no_scalar_name
    -Xlinker -T -Xlinker ${PROJECT_SOURCE_DIR}/cmake/backtrace-room.lds
    # The functions that run lie side by side: the kernel maps code in pieces of 64 KiB, and three megabytes less are resident.
    -Xlinker --symbol-ordering-file=${PROJECT_SOURCE_DIR}/cmake/function-order.txt -Xlinker --no-warn-symbol-ordering
    # Room for the hash that separate-debug.sh writes: one of the linker's would be made of symbols that name the build's directory.
    -Xlinker --build-id=0x0000000000000000000000000000000000000000
    -Xlinker --why-extract=${PROJECT_BINARY_DIR}/program.archives
    -Xlinker -z -Xlinker now -Xlinker -z -Xlinker relro
    # No RUNPATH: a library beside the program is none of ours.
    --disable-local-rpath)

# A tenth of the relocations' size; glibc before 2.36 refuses to load such a program.
execute_process(COMMAND getconf GNU_LIBC_VERSION OUTPUT_VARIABLE glibc OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
string(REGEX REPLACE "^glibc " "" glibc "${glibc}")
if(glibc VERSION_GREATER_EQUAL 2.36)
    list(APPEND program_linking -Xlinker -z -Xlinker pack-relative-relocs)
endif()

# A change of these links the programs again. SwiftPM does not know them: each program is removed before swift build.
set(program_scripts cmake/same-anywhere.lds cmake/no-unwinding.lds cmake/backtrace-room.lds cmake/function-order.txt)

# The compiler marks public functions as used, and the linker keeps them, called or not: a megabyte of Swift's and Foundation's.
# The programs are linked with copies of these archives that lack the mark.
add_executable(unretain EXCLUDE_FROM_ALL cmake/unretain.c)
get_filename_component(swift_archives "${swift_resources}/../swift_static/linux" ABSOLUTE)
foreach(name libswiftCore libswift_Concurrency libswift_StringProcessing libswift_RegexParser libswiftDispatch libswiftGlibc
        libswiftSynchronization libFoundationEssentials lib_FoundationCollections)
    set(copy ${static_directory}/${name}.a)
    if(EXISTS ${swift_archives}/${name}.a)
        add_custom_command(OUTPUT ${copy}
            COMMAND unretain ${swift_archives}/${name}.a ${copy}
            DEPENDS unretain ${swift_archives}/${name}.a VERBATIM)
        list(APPEND program_linking -Xlinker "--remap-inputs=*/linux/${name}.a=${copy}")
        list(APPEND program_scripts ${copy})
    endif()
endforeach()
