# The manual pages, which scripts/manual.py has made, and the completions of the shells, which the program writes itself.
foreach(section 1 3 5 7)
    install(DIRECTORY data/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} FILES_MATCHING PATTERN "*.${section}")
endforeach()

set(completions ${PROJECT_BINARY_DIR}/completions)
add_custom_command(OUTPUT ${completions}/tokenkeep ${completions}/_tokenkeep ${completions}/tokenkeep.fish
    COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}
    COMMAND ${program} --generate-completion-script bash > ${completions}/tokenkeep
    COMMAND ${program} --generate-completion-script zsh > ${completions}/_tokenkeep
    COMMAND ${program} --generate-completion-script fish > ${completions}/tokenkeep.fish
    DEPENDS ${program} COMMENT "Writing the completions" VERBATIM)
add_custom_target(completions ALL DEPENDS ${completions}/tokenkeep)
add_dependencies(completions program)
install(FILES ${completions}/tokenkeep DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${completions}/_tokenkeep DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${completions}/tokenkeep.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
