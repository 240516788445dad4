//go:build slow && !lab

package softswitch_test

import (
	"os"
	"strings"
	"testing"

	"weir/app"
	_ "weir/app/softswitch"
)

// TestMain runs the tests, or this binary is weir, when its first argument is one of weir's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "switch") {
		os.Exit(app.Main(app.Registry()))
	}
	os.Exit(m.Run())
}
