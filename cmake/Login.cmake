# The units that lock a vault at the end of a session.

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
        set(file \"\${prefix}/${destination}/${name}\")
        message(STATUS \"Installing: \$ENV{DESTDIR}\${file}\")
        configure_file(\"${PROJECT_SOURCE_DIR}/${template}\" \"\$ENV{DESTDIR}\${file}\" @ONLY
            FILE_PERMISSIONS ${permissions})
        list(APPEND CMAKE_INSTALL_MANIFEST_FILES \"\${file}\")")
endfunction()

# Not started by an installation: docs/login.md has the commands.
install_with_prefix(data/systemd/tokenkeep-session.service.in lib/systemd/user)
install_with_prefix(data/systemd/tokenkeep-purge.conf.in lib/systemd/system/user-runtime-dir@.service.d)
install_with_prefix(data/systemd/tokenkeep-purge.in ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep PROGRAM)
