package control_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"weir/worlds/switch/control"
)

// ExampleReadReplies reads a supervisor's replies as they arrive. It hands over a line that is no reply as unreadable.
func ExampleReadReplies() {
	data := json.NewEncoder(os.Stdout)
	data.Encode(control.Reply{Is: control.IsStopped, Left: 3})
	control.ReadReplies(strings.NewReader("{\"Is\":\"begun\"}\nno reply\n"), func(r control.Reply) { fmt.Println(r.Is) })
	// Output:
	// {"Is":"stopped","Text":"","Notes":null,"Left":3}
	// begun
	// unreadable
}
