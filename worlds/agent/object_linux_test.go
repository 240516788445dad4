package agent

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// TestLayout_MatchesPrograms checks that the structures that the loader reads and writes are the programs'.
func TestLayout_MatchesPrograms(t *testing.T) {
	sameLayout(t, object, map[string]any{"connection": rawConnection{}, "law": rawLaw{}, "hop": rawHop{},
		"parameters": parameters{}})
	sameLayout(t, ncfObject, map[string]any{"nacked": rawNacked{}})
}

func sameLayout(t *testing.T, object []byte, structures map[string]any) {
	t.Helper()
	types, err := btf.LoadSpecFromReader(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range structures {
		var c *btf.Struct
		if err := types.TypeByName(name, &c); err != nil {
			t.Fatal(err)
		}
		g := reflect.TypeOf(of)
		if int(c.Size) != binary.Size(of) || int(c.Size) != int(g.Size()) {
			t.Errorf("struct %s has %d bytes, in Go %d", name, c.Size, binary.Size(of))
		}
		for i, m := range c.Members {
			f := g.Field(i)
			if !strings.EqualFold(f.Name, strings.ReplaceAll(m.Name, "_", "")) || uintptr(m.Offset.Bytes()) != f.Offset {
				t.Errorf("struct %s: %s is at %d, in Go %s at %d", name, m.Name, m.Offset.Bytes(), f.Name, f.Offset)
			}
		}
	}
}
