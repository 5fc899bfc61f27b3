# How C is compiled for the programs without Swift. SwiftPM compiles the library's C in the same way: swift_build has the first two,
# Package.swift the rest, for C alone. Files with Swift in them carry no note of -fcf-protection: Swift's own code has none.
set(c_hardening_of_swiftpm -Xcc -fstack-protector-strong -Xcc -fstack-clash-protection)
set(c_hardening -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    list(APPEND c_hardening -fcf-protection)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    list(APPEND c_hardening -mbranch-protection=standard)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported()
