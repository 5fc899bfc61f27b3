# Installs library, header, what finds them, program and documents. Nothing below holds the prefix: the package may be
# moved, and installed with `cmake --install … --prefix` or DESTDIR.

install(FILES ${library} DESTINATION ${CMAKE_INSTALL_LIBDIR}
    PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
install(FILES ${library_directory}/${soname} ${library_directory}/libtokenkeep.so
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Never the module map: in a system's include directory it would hijack other modules.
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(PROGRAMS ${program} DESTINATION ${CMAKE_INSTALL_BINDIR})

# pkg-config: the prefix is found from where the file lies.
set(pkgconfig_directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
foreach(part LIBDIR INCLUDEDIR)
    file(RELATIVE_PATH relative_${part} ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_FULL_${part}})
endforeach()
configure_file(cmake/tokenkeep.pc.in tokenkeep.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tokenkeep.pc DESTINATION ${pkgconfig_directory})

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/TokenKeep)
configure_package_config_file(cmake/TokenKeepConfig.cmake.in TokenKeepConfig.cmake
    INSTALL_DESTINATION ${package_directory}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Below 1.0 a minor release may change the API.
write_basic_package_version_file(TokenKeepConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TokenKeepConfig.cmake ${PROJECT_BINARY_DIR}/TokenKeepConfigVersion.cmake
    DESTINATION ${package_directory})

file(GLOB documents CONFIGURE_DEPENDS *.md LICENSE docs/*.md)
install(FILES ${documents} DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Examples: nothing below share is read when a store is opened.
install(DIRECTORY data/stack.d DESTINATION ${CMAKE_INSTALL_DATADIR}/tokenkeep FILES_MATCHING PATTERN "*.conf")
file(GLOB manual_pages CONFIGURE_DEPENDS data/man/*.1)
install(FILES ${manual_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
