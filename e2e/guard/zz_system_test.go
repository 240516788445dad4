//go:build system

package guard_test

import ("testing";"fmt";"path/filepath";"maps";"slices";"weir/e2e/guard")

func TestZZ(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	if err := guard.Build(loop, guard.Loop); err != nil { t.Fatal(err) }
	m := newMeter()
	t.Run("w", func(t *testing.T) { m.instructions(t, loop) })
	fmt.Println(len(m.figures))
	_ = maps.Keys(map[int]int{}); _ = slices.Sorted[string]
	for k, v := range m.figures { fmt.Printf("FIG %v %v\n", k, v) }
}
