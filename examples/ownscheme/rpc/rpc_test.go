package rpc

import "fmt"

func ExampleSizes() {
	sizes := Sizes()
	fmt.Println(sizes.SizeAt(0.5), sizes.SizeAt(0.9), int(sizes.MeanSize()))
	// Output: 512B 4kB 5706
}
