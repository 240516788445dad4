package testkit

import (
	"os/exec"
	"testing"
)

// NotInstalled is part of the reason of a skip by RequireProgram. A stage with all of its packages installed treats
// such a skip as an error (internal/ci).
const NotInstalled = " is not installed; on Debian: apt-get install "

// RequireProgram skips a test if a program that it runs is not in the path. The argument debianPackage names the
// package with the program; .ci/packages lists the packages of each stage.
func RequireProgram(t testing.TB, program, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		SkipMissing(t, program, debianPackage)
	}
}

// SkipMissing skips a test that needs the contents of a Debian package. The caller has found that they are missing.
func SkipMissing(t testing.TB, what, debianPackage string) {
	t.Helper()
	t.Skip(what + NotInstalled + debianPackage)
}
