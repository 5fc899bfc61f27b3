# Fetches the Swift packages before anything is compiled, and says what to do where there is no network. A release's tarball has
# them, a second build has fetched them.
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/vendor/swift-argument-parser
        AND NOT EXISTS ${TOKENKEEP_SCRATCH_PATH}/checkouts/swift-argument-parser)
    message(STATUS "Fetching Swift packages")
    execute_process(
        COMMAND ${CMAKE_COMMAND} -E env TOKENKEEP_PROGRAM=1
            ${SWIFT} package --package-path ${PROJECT_SOURCE_DIR} --scratch-path ${TOKENKEEP_SCRATCH_PATH} resolve
        RESULT_VARIABLE unfetched ERROR_VARIABLE log OUTPUT_QUIET ERROR_STRIP_TRAILING_WHITESPACE)
    if(unfetched)
        message(FATAL_ERROR " ${log}\n The Swift packages cannot be fetched: build with a network, or from the tarball of make dist, "
            "which has them.")
    endif()
endif()
