# Parts that are built if a library's headers are there: -DTOKENKEEP_<NAME>=ON makes their absence an error, OFF asks for nothing.

# Declares the option TOKENKEEP_<name>.
macro(optional_part name part headers)
    set(TOKENKEEP_${name} AUTO CACHE STRING "Whether ${part} is built: ON, OFF, or AUTO if ${headers} are there")
    set_property(CACHE TOKENKEEP_${name} PROPERTY STRINGS AUTO ON OFF)
endmacro()

# Whether the option asks for the part: ON or AUTO.
macro(is_wanted name result)
    set(${result} OFF)
    if(TOKENKEEP_${name} STREQUAL AUTO OR TOKENKEEP_${name})
        set(${result} ON)
    endif()
endmacro()

# Says that the part is left out because its headers, of a Debian package, are missing. With ON that is an error.
macro(leave_out name part headers package)
    if(NOT TOKENKEEP_${name} STREQUAL AUTO)
        message(FATAL_ERROR "${headers} are missing: install ${package}, or give -DTOKENKEEP_${name}=OFF")
    endif()
    message(STATUS "${part} is left out: ${headers} are missing (${package})")
endmacro()
