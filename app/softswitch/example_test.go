package softswitch_test

import (
	"fmt"

	_ "weir/app/softswitch"
	"weir/internal/command"
)

// The import alone links the part in.
func Example() {
	fmt.Println(command.SwitchCommand.Linked())
	// Output: true
}
