package testkit

import (
	"os/exec"
	"testing"
)

// NotInstalled is part of the reason of a skip by RequireProgram. A stage that has installed all of its packages takes
// such a skip as an error (internal/ci).
const NotInstalled = " is not installed; on Debian: apt-get install "

// RequireProgram skips a test if a program that it runs is not in the path. debianPackage names the package with the
// program; .ci/packages lists the packages of each stage.
func RequireProgram(t testing.TB, program, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		SkipMissing(t, program, debianPackage)
	}
}

// SkipMissing skips a test that needs what a Debian package has, if the test has found that it is missing.
func SkipMissing(t testing.TB, what, debianPackage string) {
	t.Helper()
	t.Skip(what + NotInstalled + debianPackage)
}
