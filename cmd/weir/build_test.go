package main

import (
	"testing"

	"weir/internal/testutil/await"
)

// build returns the path of weir's program.
func build(t *testing.T) string {
	t.Helper()
	return await.Program(t, "cmd/weir")
}
