# Builds and installs the provider, if cmake/Provider.cmake found what it needs.
if(NOT builds_provider)
    return()
endif()
set(provider ${PROJECT_BINARY_DIR}/bin/tokenkeep-secret-service)
add_custom_command(OUTPUT ${provider}
    # The linker's list of archives stays that of the program, from which the licences are listed.
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_BINARY_DIR}/program.archives ${PROJECT_BINARY_DIR}/program.archives.kept
    COMMAND ${CMAKE_COMMAND} -E rm -f ${release}/tokenkeep-secret-service
    COMMAND ${swift_build} --product tokenkeep-secret-service
    COMMAND ${CMAKE_COMMAND} -E rename ${PROJECT_BINARY_DIR}/program.archives.kept ${PROJECT_BINARY_DIR}/program.archives
    COMMAND ${CMAKE_COMMAND} -E copy ${release}/tokenkeep-secret-service ${provider}
    COMMAND ${CMAKE_COMMAND} -E env LLVM_OBJCOPY=${LLVM_OBJCOPY}
        sh ${PROJECT_SOURCE_DIR}/cmake/separate-debug.sh ${provider} ${PROJECT_BINARY_DIR}/debug/provider
    DEPENDS ${sources} ${library} cmake/separate-debug.sh ${program_scripts}
    COMMENT "Building the provider" USES_TERMINAL VERBATIM)
add_custom_target(provider ALL DEPENDS ${provider})
add_dependencies(provider library)

install(PROGRAMS ${provider} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep)
install(DIRECTORY ${PROJECT_BINARY_DIR}/debug/provider/ DESTINATION lib/debug COMPONENT debug EXCLUDE_FROM_ALL)
# Never org.freedesktop.secrets itself: another keyring's package may own that file. tokenkeep secret-service enable writes it.
install_with_prefix(data/systemd/tokenkeep-secret-service.service.in lib/systemd/user)
install_with_prefix(data/dbus-1/services/org.tokenkeep.SecretService1.service.in share/dbus-1/services)
