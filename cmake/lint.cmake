# Checks of the tree itself, label "lint". The symbol and install checks look at a release build as a
# packager makes it, so a nested one is built first.

set(release_dir "${PROJECT_BINARY_DIR}/release-check")

function(kvsim_lint_test name)
    add_test(NAME lint.${name} COMMAND ${ARGN} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    set_tests_properties(lint.${name} PROPERTIES LABELS lint SKIP_RETURN_CODE 77 TIMEOUT 300
        ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
endfunction()

kvsim_lint_test(layers tools/check_layers)
kvsim_lint_test(layers_checked tests/lint/test_check_layers)
kvsim_lint_test(symbols_checked tests/lint/test_check_symbols)
kvsim_lint_test(format tools/check_format)
kvsim_lint_test(shell tools/check_shell)

kvsim_lint_test(release_build tools/build_release "${release_dir}")
set_tests_properties(lint.release_build PROPERTIES FIXTURES_SETUP release TIMEOUT 600 COST 1000)

kvsim_lint_test(symbols tools/check_symbols "${release_dir}")
kvsim_lint_test(install tools/check_install "${release_dir}")
set_tests_properties(lint.symbols lint.install PROPERTIES FIXTURES_REQUIRED release)

add_custom_target(format COMMAND tools/check_format --fix
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" VERBATIM)
