# The agent: C on libsystemd and libc, without Swift and without the library.

find_package(PkgConfig REQUIRED)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
add_executable(tokenkeep-agent
    Sources/agent/held_keys.c Sources/agent/lock_proof.c Sources/agent/lock_state.c Sources/agent/login1.c
    Sources/agent/login1_sessions.c Sources/agent/main.c Sources/agent/requests.c Sources/agent/session_bus.c Sources/agent/tools.c
    Sources/CSystemShims/agent_client.c Sources/CSystemShims/keyring.c)
target_include_directories(tokenkeep-agent PRIVATE Sources/CSystemShims/include)
target_compile_options(tokenkeep-agent PRIVATE -std=gnu11 -O2 -Wall -Wextra -Werror -fstack-protector-strong
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
target_link_options(tokenkeep-agent PRIVATE -Wl,-z,relro,-z,now)
target_link_libraries(tokenkeep-agent PRIVATE PkgConfig::SYSTEMD)
