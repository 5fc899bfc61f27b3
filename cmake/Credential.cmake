# tokenkeep-credential speaks the protocols of git, docker, cargo and others. Each caller looks for a name of its own, which is
# a link. The program is built like tokenkeep, with the same flags: another flag would compile every module again.
set(credential ${PROJECT_BINARY_DIR}/bin/tokenkeep-credential)
set(credential_links git-credential-tokenkeep docker-credential-tokenkeep cargo-credential-tokenkeep
    terraform-credentials-tokenkeep kubectl-tokenkeep bazel-credential-tokenkeep)
set(make_links)
set(credential_link_files)
foreach(link ${credential_links})
    list(APPEND make_links
        COMMAND ${CMAKE_COMMAND} -E create_symlink tokenkeep-credential ${PROJECT_BINARY_DIR}/bin/${link})
    list(APPEND credential_link_files ${PROJECT_BINARY_DIR}/bin/${link})
endforeach()

# The linker writes its list of archives over that of the program, which linked.txt is made of.
add_custom_command(OUTPUT ${credential}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${release}/tokenkeep-credential
    COMMAND ${swift_build} --product tokenkeep-credential
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_BINARY_DIR}/tokenkeep.archives ${PROJECT_BINARY_DIR}/program.archives
    COMMAND ${CMAKE_COMMAND} -E copy ${release}/tokenkeep-credential ${credential}
    COMMAND ${CMAKE_COMMAND} -E env LLVM_OBJCOPY=${LLVM_OBJCOPY}
        sh ${PROJECT_SOURCE_DIR}/cmake/separate-debug.sh ${credential} ${PROJECT_BINARY_DIR}/debug/credential
    ${make_links}
    DEPENDS ${sources} ${program} archive.stamp cmake/separate-debug.sh ${program_scripts}
    COMMENT "Building the credential helpers" USES_TERMINAL VERBATIM)
add_custom_target(credential ALL DEPENDS ${credential})
add_dependencies(credential library)

install(PROGRAMS ${credential} DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${credential_link_files} DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/debug/credential/ DESTINATION lib/debug COMPONENT debug EXCLUDE_FROM_ALL)
