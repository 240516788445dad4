package control_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"weir/worlds/switch/control"
)

// A supervisor reads replies as they come. A line that is no reply is handed over as unreadable.
func ExampleReadReplies() {
	data := json.NewEncoder(os.Stdout)
	data.Encode(control.Reply{Is: control.IsStopped, Left: 3})
	control.ReadReplies(strings.NewReader("{\"Is\":\"begun\"}\nno reply\n"), func(r control.Reply) { fmt.Println(r.Is) })
	// Output:
	// {"Is":"stopped","Text":"","Notes":null,"Left":3}
	// begun
	// unreadable
}
