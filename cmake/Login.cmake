# The PAM module, what Debian's pam-auth-update needs for it, and what locks a vault at the end of a session. Without libpam's
# headers the build leaves the PAM module out and says so; -DTOKENKEEP_PAM=ON makes their absence an error, OFF asks for nothing.
optional_part(PAM pam_tokenkeep.so "libpam's headers")

# Not started by an installation: docs/login.md has the commands.
install(FILES data/systemd/tokenkeep.preset DESTINATION lib/systemd/user-preset RENAME 80-tokenkeep.preset)
install_with_prefix(data/systemd/tokenkeep-session.service.in lib/systemd/user)
install_with_prefix(data/systemd/tokenkeep-purge.conf.in lib/systemd/system/user-runtime-dir@.service.d)
install_with_prefix(data/systemd/tokenkeep-purge.in ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep PROGRAM)
install_with_prefix(data/ssh/ssh-askpass.in ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep PROGRAM)
install_with_prefix(data/systemd/tokenkeep-ssh-add.service.in lib/systemd/user)

is_wanted(PAM wanted)
if(NOT wanted)
    return()
endif()
find_path(PAM_INCLUDE_DIR security/pam_ext.h)
find_library(PAM_LIBRARY pam)
if(NOT PAM_INCLUDE_DIR OR NOT PAM_LIBRARY)
    leave_out(PAM pam_tokenkeep.so "libpam's headers" libpam0g-dev)
    return()
endif()

# The module finds the program by its own place, so that both may be moved and installed under another prefix. A directory of
# its own outside the prefix, as -DTOKENKEEP_PAM_DIRECTORY=/lib/x86_64-linux-gnu/security, fixes the program's path instead.
if(IS_ABSOLUTE ${TOKENKEEP_PAM_DIRECTORY})
    set(program_of_module ${CMAKE_INSTALL_FULL_BINDIR}/tokenkeep)
    set(pam_module_in_line ${TOKENKEEP_PAM_DIRECTORY}/pam_tokenkeep.so)
    install(CODE "
        get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
        if(NOT prefix STREQUAL \"${CMAKE_INSTALL_PREFIX}\")
            message(WARNING \"pam_tokenkeep.so runs ${program_of_module}: give its PAM lines helper=\${prefix}/${CMAKE_INSTALL_BINDIR}/tokenkeep\")
        endif()")
else()
    file(RELATIVE_PATH bindir_from_module /${TOKENKEEP_PAM_DIRECTORY} /${CMAKE_INSTALL_BINDIR})
    set(program_of_module ${bindir_from_module}/tokenkeep)
    set(pam_module_in_line "\${prefix}/${TOKENKEEP_PAM_DIRECTORY}/pam_tokenkeep.so")
endif()

file(GLOB pam_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/Sources/pam/*.c)
add_library(pam_tokenkeep MODULE ${pam_sources} ${PROJECT_SOURCE_DIR}/Sources/CSystemShims/clock.c)
set_target_properties(pam_tokenkeep PROPERTIES PREFIX "" C_STANDARD 11 C_EXTENSIONS ON C_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/security)
target_compile_definitions(pam_tokenkeep PRIVATE TOKENKEEP_PROGRAM="${program_of_module}")
target_include_directories(pam_tokenkeep PRIVATE ${PAM_INCLUDE_DIR} ${PROJECT_SOURCE_DIR}/Sources/CSystemShims/include)
target_compile_options(pam_tokenkeep PRIVATE -Wall -Wextra -Werror -O2 ${c_hardening})
target_link_options(pam_tokenkeep PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,--as-needed -Wl,-z,noexecstack)
target_link_libraries(pam_tokenkeep PRIVATE ${PAM_LIBRARY})
install(TARGETS pam_tokenkeep DESTINATION ${TOKENKEEP_PAM_DIRECTORY})
# pam-auth-update reads /usr/share/pam-configs alone: docs/login.md.
install_with_prefix(data/pam-configs/tokenkeep.in ${CMAKE_INSTALL_DATADIR}/pam-configs)
