# The program that seals with the TPM, for its user and as root's helper: C on tpm2-tss, which nothing else of ours links. Without
# tpm2-tss's headers the build leaves it out and says so; -DTOKENKEEP_TPM2=ON makes their absence an error, OFF asks for nothing.
optional_part(TPM2 tokenkeep-tpm2 "tpm2-tss's headers")
is_wanted(TPM2 wanted)
if(NOT wanted)
    return()
endif()
find_package(PkgConfig)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(TSS2 IMPORTED_TARGET tss2-esys tss2-mu tss2-tctildr)
endif()
if(NOT TSS2_FOUND)
    leave_out(TPM2 tokenkeep-tpm2 "tpm2-tss's headers" libtss2-dev)
    return()
endif()

file(GLOB tpm2_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/Sources/tpm2/*.c)
add_executable(tokenkeep-tpm2 ${tpm2_sources})
target_compile_options(tokenkeep-tpm2 PRIVATE -std=gnu11 -O2 -Wall -Wextra -Werror ${c_hardening})
target_link_options(tokenkeep-tpm2 PRIVATE -Wl,-z,relro,-z,now)
target_link_libraries(tokenkeep-tpm2 PRIVATE PkgConfig::TSS2)

install(TARGETS tokenkeep-tpm2 DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tokenkeep)
# Not started by an installation: docs/device-helper.md has the commands.
install(FILES data/systemd/tokenkeep-tpm2.socket DESTINATION lib/systemd/system)
install_with_prefix(data/systemd/tokenkeep-tpm2@.service.in lib/systemd/system)
