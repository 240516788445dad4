package rpc

import "fmt"

func ExampleSizes() {
	sizes := Sizes()
	fmt.Println(sizes.Size(0.5), sizes.Size(0.9), int(sizes.Mean()))
	// Output: 512B 4kB 5706
}
