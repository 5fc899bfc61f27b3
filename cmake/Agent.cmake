# The agent: C on libsystemd and libc, without Swift and without the library. Without libsystemd's headers the build leaves it
# out and says so; -DTOKENKEEP_AGENT=ON makes their absence an error, OFF asks for nothing.
optional_part(AGENT tokenkeep-agent "libsystemd's headers")
is_wanted(AGENT wanted)
if(NOT wanted)
    return()
endif()
find_package(PkgConfig)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(SYSTEMD IMPORTED_TARGET libsystemd)
endif()
if(NOT SYSTEMD_FOUND)
    leave_out(AGENT tokenkeep-agent "libsystemd's headers" libsystemd-dev)
    return()
endif()

add_executable(tokenkeep-agent
    Sources/agent/agent.c Sources/agent/bus_calls.c Sources/agent/foreign_keys.c Sources/agent/held_keys.c
    Sources/agent/listener.c Sources/agent/lock_proof.c Sources/agent/lock_state.c Sources/agent/lock_actions.c
    Sources/agent/lock_words.c Sources/agent/login1.c Sources/agent/login1_sessions.c Sources/agent/login1_state.c
    Sources/agent/main.c Sources/agent/requests.c Sources/agent/screensavers.c Sources/agent/service_manager.c
    Sources/agent/session_bus.c Sources/agent/timers.c Sources/agent/tools.c Sources/CSystemShims/agent_client.c
    Sources/CSystemShims/clock.c Sources/CSystemShims/keyring.c Sources/CSystemShims/socket_client.c)
target_include_directories(tokenkeep-agent PRIVATE Sources/CSystemShims/include)
target_compile_options(tokenkeep-agent PRIVATE -std=gnu11 -O2 -Wall -Wextra -Werror ${c_hardening})
target_link_options(tokenkeep-agent PRIVATE -Wl,-z,relro,-z,now)
target_link_libraries(tokenkeep-agent PRIVATE PkgConfig::SYSTEMD)

install(TARGETS tokenkeep-agent DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep)
# Not started by an installation: docs/screen-lock.md has the commands.
install(FILES data/systemd/tokenkeep-agent.socket data/systemd/tokenkeep-unlocked.target DESTINATION lib/systemd/user)
install_with_prefix(data/systemd/tokenkeep-agent.service.in lib/systemd/user)
install_with_prefix(data/systemd/tokenkeep-sync.service.in lib/systemd/user)
