# Finds swift, swiftc, and the llvm-objcopy and lld that come with them: another version's may not read the objects.
find_program(SWIFT swift)
if(NOT SWIFT)
    set(SWIFT swift)
endif()
execute_process(COMMAND sh ${PROJECT_SOURCE_DIR}/scripts/check-swift.sh ${SWIFT}
    RESULT_VARIABLE unfit ERROR_VARIABLE advice ERROR_STRIP_TRAILING_WHITESPACE)
if(unfit)
    unset(SWIFT CACHE)
    message(FATAL_ERROR " ${advice}")
endif()
execute_process(COMMAND ${SWIFT} -print-target-info
    OUTPUT_VARIABLE target_info COMMAND_ERROR_IS_FATAL ANY)
# swift may be a launcher that picks a toolchain: the resource path (…/usr/lib/swift) is the toolchain's own.
string(JSON swift_resources GET "${target_info}" paths runtimeResourcePath)
get_filename_component(toolchain "${swift_resources}/../../bin" ABSOLUTE)

# HINTS are looked at before the PATH.
find_program(SWIFTC swiftc HINTS ${toolchain} REQUIRED)
find_program(LLVM_OBJCOPY llvm-objcopy HINTS ${toolchain} REQUIRED)
find_program(LLD ld.lld HINTS ${toolchain} REQUIRED)
