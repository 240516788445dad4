package softswitch_test

import (
	"fmt"

	_ "weir/app/softswitch"
	"weir/internal/command"
)

// Example shows that the import alone links the part in.
func Example() {
	fmt.Println(command.SwitchCommand.Linked())
	// Output: true
}
