package live_test

import (
	"fmt"

	"weir/study/page/live"
)

// Example closes a manager: it has then ended and takes no more jobs.
func Example() {
	m := live.New(live.Config{Dir: "results"})
	m.Close()
	fmt.Println(len(m.Jobs()), live.Done.Over(), live.Waiting.Over())
	// Output: 0 true false
}
