//go:build lab

package softswitch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/app"
	_ "weir/app/softswitch"
	softswitch "weir/worlds/switch"
)

// TestMain makes this binary weir, with an additional switch program, when its first argument is one of weir's.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "switch-confined" {
		if err := softswitch.Confined(os.Args[2]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("confined")
		os.Exit(0)
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "switch") {
		r := app.Registry()
		r.Programs = append(append(r.Programs, softswitch.OwnScheme("counter")), softswitch.Intruders()...)
		os.Exit(app.Main(r))
	}
	os.Exit(m.Run())
}
