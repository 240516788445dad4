package scheme

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/unit"
)

// Values come back with the type of their kind; asking for what was not declared,
// or by the wrong type, is a mistake in a scheme's code and panics with its name.
func TestValues(t *testing.T) {
	v := NewValues("abc", map[string]any{
		"n": 3, "x": 0.5, "on": true, "word": "register", "memory": 3 * unit.Second, "rate": 10 * unit.Kbps,
		"buffer": 32 * unit.MB,
		"length": unit.Length{Packets: 24}, "map": []Entry{{"a", 1}},
	})
	if v.Int("n") != 3 || v.Float("x") != 0.5 || !v.Bool("on") || v.Text("word") != "register" ||
		v.Time("memory") != 3*unit.Second ||
		v.Rate("rate") != 10*unit.Kbps || v.Bytes("buffer") != 32*unit.MB || v.Length("length").Packets != 24 ||
		v.Map("map")[0].Key != "a" {
		t.Errorf("%+v", v)
	}
	for _, f := range []func(){func() { v.Int("x") }, func() { v.Rate("nothing") }} {
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "scheme abc") {
					t.Errorf("panic: %v", r)
				}
			}()
			f()
		}()
	}
}

func ExampleNewValues() {
	v := NewValues("abc", map[string]any{"memory": 3 * unit.Second})
	fmt.Println(v.Time("memory"))
	// Output: 3s
}
