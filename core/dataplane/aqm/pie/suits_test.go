package pie

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/unit"
)

// TestConfig_CheckRemarksGainForUpdate checks the warning about gains, which act once per update. With an update of 1
// ms in place of 15 ms the gain acts 15 times as often, so alpha must be a fifteenth, 0.00833; with 30 ms it acts half
// as often. A given alpha causes no warning.
func TestConfig_CheckRemarksGainForUpdate(t *testing.T) {
	where := &dataplane.SwitchContext{Ports: []dataplane.Peer{{To: "h1", Rate: unit.LinkRate{Bits: 100 * unit.Mbps}}}}
	for _, x := range []struct{ given, want string }{
		{"", ""}, {"update 15ms", ""}, {"alpha 1", ""}, {"beta 2", ""}, {"update 1ms alpha 0.01", ""},
		{"update 1ms", "15 times as fast; alpha: 0.00833"}, {"update 30ms", "0.5 times as fast; alpha: 0.25"},
		{"update 1ms beta 2", "alpha: 0.00833"},
	} {
		t.Run(x.given, func(t *testing.T) {
			c, err := Scheme().Configure(strings.Fields(x.given)...)
			if err != nil {
				t.Fatal(err)
			}
			all := dataplane.Check(c, where)
			if x.want == "" && len(all) > 0 || x.want != "" && (len(all) != 1 || all[0].Param != "update" ||
				!strings.Contains(all[0].Text, x.want)) {
				t.Errorf("%v, want %q", fmt.Sprint(all), x.want)
			}
		})
	}
	where.Ports[0].Buffer.Packets = 24 // 2.9 ms at this rate
	if c, err := Scheme().Configure("update", "1ms"); err != nil || len(dataplane.Check(c, where)) != 2 {
		t.Errorf("with a short buffer, too: %v %v", err, dataplane.Check(c, where))
	}
}
