# Installs library, header, what finds them, program and documents. Nothing below holds the prefix: the package may be
# moved, and installed with `cmake --install … --prefix` or DESTDIR.

set(directories ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_LIBDIR}/cmake/TokenKeep
    ${CMAKE_INSTALL_LIBDIR}/tokenkeep/modules ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep ${CMAKE_INSTALL_INCLUDEDIR}/tokenkeep
    ${CMAKE_INSTALL_DOCDIR} ${CMAKE_INSTALL_DATADIR}/tokenkeep ${CMAKE_INSTALL_DATADIR}/pam-configs
    ${CMAKE_INSTALL_MANDIR}/man1 ${CMAKE_INSTALL_MANDIR}/man3 ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    ${CMAKE_INSTALL_DATADIR}/zsh/site-functions ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    ${CMAKE_INSTALL_DATADIR}/dbus-1/services lib/systemd/user lib/systemd/user-preset lib/systemd/system/user-runtime-dir@.service.d)
if(NOT IS_ABSOLUTE "${TOKENKEEP_PAM_DIRECTORY}")
    list(APPEND directories ${TOKENKEEP_PAM_DIRECTORY})
endif()
install(CODE "set(directories ${directories})")
install(SCRIPT cmake/MakeDirectories.cmake)
install(FILES ${library} DESTINATION ${CMAKE_INSTALL_LIBDIR}
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(FILES ${library_directory}/${soname} ${library_directory}/libtokenkeep.so
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Never the module map: in a system's include directory it would hijack other modules.
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(PROGRAMS ${program} DESTINATION ${CMAKE_INSTALL_BINDIR})

# pkg-config: the prefix is found from where the file lies. Not /usr: pkg-config leaves out what the compiler searches
# anyway, which it knows by the plain path alone.
set(pkgconfig_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(CMAKE_INSTALL_PREFIX MATCHES "^/usr/?$")
    set(pc_prefix /usr)
else()
    file(RELATIVE_PATH pc_up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
    string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${pc_up}")
endif()
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/tokenkeep.pc.in tokenkeep.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tokenkeep.pc DESTINATION ${pkgconfig_directory})

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/TokenKeep)
configure_package_config_file(cmake/TokenKeepConfig.cmake.in TokenKeepConfig.cmake
    INSTALL_DESTINATION ${package_directory}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# The C API and ABI do not break while the soname stays.
write_basic_package_version_file(TokenKeepConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TokenKeepConfig.cmake ${PROJECT_BINARY_DIR}/TokenKeepConfigVersion.cmake
    DESTINATION ${package_directory})

# Where stacks look for modules by their names: empty, for others to install into.
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tokenkeep/modules)

# As they lie in the sources: the links from one to another hold.
install(FILES README.md SECURITY.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS
    PATTERN ".build*" EXCLUDE PATTERN "Package.resolved" EXCLUDE PATTERN "__pycache__" EXCLUDE)
# The licences of what is linked in, and which archives that is in this build.
install(DIRECTORY licenses DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_BINARY_DIR}/linked.txt DESTINATION ${CMAKE_INSTALL_DOCDIR}/licenses)
# Where debuggers look for symbols by the build id. On demand: cmake --install build --component debug
install(DIRECTORY ${PROJECT_BINARY_DIR}/debug/library/ ${PROJECT_BINARY_DIR}/debug/program/
    DESTINATION lib/debug COMPONENT debug EXCLUDE_FROM_ALL)
# Examples: nothing below share is read when a store is opened.
# systemd looks for users' units there, whatever the library directory is.
install(FILES data/systemd/tokenkeep-keep.service DESTINATION lib/systemd/user)
# Read when a session is renewed at a provider that has no file of the user's or the system's.
install(DIRECTORY data/providers.d DESTINATION ${CMAKE_INSTALL_DATADIR}/tokenkeep FILES_MATCHING PATTERN "*.conf")
install(DIRECTORY data/stack.d DESTINATION ${CMAKE_INSTALL_DATADIR}/tokenkeep FILES_MATCHING PATTERN "*.conf")

# Files that name an installed path get it at the installation, whose prefix may be another one than the configuration's.
function(install_with_prefix template destination)
    get_filename_component(name ${template} NAME_WLE)
    set(permissions OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    if(ARGV2 STREQUAL PROGRAM)
        list(APPEND permissions OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)
    endif()
    install(CODE "
        get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
        set(bindir \"\${prefix}/${CMAKE_INSTALL_BINDIR}\")
        set(libexecdir \"\${prefix}/${CMAKE_INSTALL_LIBEXECDIR}\")
        set(pam_module \"${pam_module_in_line}\")
        if(prefix STREQUAL \"/usr\")
            set(pam_module pam_tokenkeep.so)
        endif()
        set(file \"\${prefix}/${destination}/${name}\")
        message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
        configure_file(\"${PROJECT_SOURCE_DIR}/${template}\" \"\$ENV{DESTDIR}\${file}\" @ONLY
            FILE_PERMISSIONS ${permissions})
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
endfunction()

# Leaves the list of what was installed of a component in the prefix, for scripts/uninstall.sh. Comes after all that it lists.
function(list_installation list component)
    install(DIRECTORY DESTINATION share/tokenkeep COMPONENT ${component})
    install(CODE "
        get_filename_component(prefix \"\${CMAKE_INSTALL_PREFIX}\" ABSOLUTE)
        list(JOIN CMAKE_INSTALL_MANIFEST_FILES \"\\n\" lines)
        set(file \"\$ENV{DESTDIR}\${prefix}/share/tokenkeep/${list}\")
        file(WRITE \"\${file}\" \"\${lines}\\n\${prefix}/${CMAKE_INSTALL_LIBDIR}/tokenkeep/modules/\\n\")
        file(CHMOD \"\${file}\" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)" COMPONENT ${component})
endfunction()
