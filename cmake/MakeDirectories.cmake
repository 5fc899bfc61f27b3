# At the installation: makes the missing ones of ${directories} below the prefix, of mode 0755 under any umask. In a directory of
# mode 0700 nobody but root could use the library. A directory that is there keeps its mode.
get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)

# One line that says what to do, before the first file.
set(place "$ENV{DESTDIR}${prefix}")
while(NOT EXISTS "${place}")
    get_filename_component(place "${place}" DIRECTORY)
endwhile()
execute_process(COMMAND test -w "${place}" RESULT_VARIABLE not_writable)
if(NOT not_writable EQUAL 0)
    message(FATAL_ERROR " No permission to write in ${place}: use sudo, or give PREFIX or DESTDIR another place.")
endif()

foreach(directory ${directories})
    set(missing "")
    set(path "$ENV{DESTDIR}${prefix}/${directory}")
    while(NOT EXISTS "${path}")
        list(PREPEND missing "${path}")
        get_filename_component(path "${path}" DIRECTORY)
    endwhile()
    foreach(path IN LISTS missing)
        file(MAKE_DIRECTORY "${path}")
        file(CHMOD "${path}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
            WORLD_READ WORLD_EXECUTE)
    endforeach()
endforeach()
