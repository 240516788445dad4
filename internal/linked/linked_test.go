package linked_test

import (
	"errors"
	"fmt"
	"testing"

	"weir/internal/linked"
)

// A part has its value once it is linked; before, the error names the package to import.
func Example() {
	part := linked.New[func() string]("the drawing of figures", "weir/app/figure")
	_, err := part.Get()
	fmt.Println(err)
	part.Link(func() string { return "drawn" })
	draw, err := part.Get()
	fmt.Println(draw(), err)
	// Output:
	// the drawing of figures is not part of this program; to add it, import _ "weir/app/figure" in package main
	// drawn <nil>
}

// TestPart_IsLinkedOnce checks the error's type, and that a part is linked once.
func TestPart_IsLinkedOnce(t *testing.T) {
	part := linked.New[int]("x", "weir/app/x")
	var missing *linked.MissingError
	if _, err := part.Get(); !errors.As(err, &missing) || missing.Path != "weir/app/x" || part.Linked() {
		t.Errorf("%v, %v", err, part.Linked())
	}
	part.Link(0)
	if !part.Linked() {
		t.Error("a zero value is not linked")
	}
	defer func() {
		if recover() == nil {
			t.Error("a second value is taken")
		}
	}()
	part.Link(1)
}
