package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"weir/core/scheme"
	"weir/internal/command"
)

// TestTransportsInline checks that a traffic can name any transport with its parameters next to it: no parameter
// has the name of a key of the traffic.
func TestTransportsInline(t *testing.T) {
	values := map[scheme.ValueKind]string{scheme.Rate: "1Mbps", scheme.Packets: "10 packets", scheme.Size: "10kB",
		scheme.Duration: "1ms", scheme.Int: "1"}
	for _, s := range Registry().Transports {
		params := ""
		for _, p := range s.Parameters() {
			if p.Required {
				params += fmt.Sprintf(", %s: %s", p.Name, values[p.Kind])
			}
		}
		file := filepath.Join(t.TempDir(), "t.yaml")
		text := `duration: 100ms
topology: {dumbbell: {hosts: 1, rate: 10Mbps, bottleneck: 5Mbps, delay: 1ms}}
switch: [forward]
traffic: [{name: x, from: left0, to: right0, transport: ` + s.Name + params + `, size: 10kB, start: 0s}]
measure: [fct]
`
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		if code := Run(Registry(), []string{"run", file, "--out", filepath.Join(t.TempDir(), "out")}, &out, &errs,
			false); code != command.Done {
			t.Errorf("%s: exit code %d\n%s%s", s.Name, code, out.String(), errs.String())
		}
	}
}
