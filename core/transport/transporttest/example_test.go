package transporttest_test

import (
	"fmt"

	"weir/core/transport/transporttest"
	"weir/core/transport/window"
)

// failures counts what a transport does wrong.
type failures int

func (*failures) Helper()                 {}
func (f *failures) Errorf(string, ...any) { *f++ }

// ExampleContract checks a transport of your own as Weir's are checked.
func ExampleContract() {
	var broken failures
	transporttest.Contract(&broken, transporttest.Transport{Name: "window", Scheme: window.Scheme(), Repairs: true,
		Backoff: true, GoBack: true, Params: []string{"window", "20 packets"}})
	fmt.Println(broken, "broken promises")
	// Output: 0 broken promises
}
