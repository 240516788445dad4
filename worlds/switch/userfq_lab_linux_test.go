//go:build lab

package softswitch_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"weir/internal/testkit/realtime"
)

// twoWay has a switch with two users behind a port of 50 Mb/s, and 20 Mb/s up.
const twoWay = `
ports: {lan: {interface: eth1, rate: 50Mbps}, wan: {interface: eth2, rate: 20Mbps}}
users: {behind: lan, named: [10.77.0.1, 10.77.0.2]}
%s`

// lone has a switch with 20 Mb/s in each direction.
const lone = `
ports: {lan: {interface: eth1, rate: 20Mbps}, wan: {interface: eth2, rate: 20Mbps}}
%s`

// shareFunctions are shell functions that end a switch, and print the metrics that show whether the machine has
// disturbed it.
const shareFunctions = `
lateness() {
  ip netns exec middle curl -s 127.0.0.1:9465/metrics |
    grep -E '^weir_switch_(lateness_seconds_(count|bucket\{le="0.002"\})|ring_lost_frames_total\{)'
}
finish() { lateness; kill $switch; wait $switch || true; }
`

// TestAgainstUserFQTwoWayAndLone compares abc with a queue for each user. If two connections of one user download
// and two of another upload, abc leaves at most .15 of the link unused. In three runs it was .08 to .1 of the
// downloads' direction. If one upload is the only traffic, it is at most .05.
//
// The buffers have 100 packets and the round trip is the machine's, so hosts send in bursts (cases asym and lone of
// the review of the lab, F1 and F12). The verdict is open if frames left a switch late, a ring lost frames, no core
// was idle, or user_fq did not fill the link either.
func TestAgainstUserFQTwoWayAndLone(t *testing.T) {
	realtime.Test(t, func(t *realtime.Try) {
		defer t.WatchIdle()()
		script := fmt.Sprintf(chain, "middle") + shareFunctions
		for _, rest := range []string{"switch: [forward, {abc: {}}]", "switch: [forward]\nscheduler: user_fq"} {
			script += file("middle", fmt.Sprintf(twoWay, rest)) + `switch=$!
listen 5201
listen 5202
ip netns exec lan iperf3 -c 10.77.0.9 -p 5201 -B 10.77.0.1 -R -P 2 -C cubic -O 2 -t 6 > /tmp/weir-down.txt & down=$!
ip netns exec lan iperf3 -c 10.77.0.9 -p 5202 -B 10.77.0.2 -P 2 -C cubic -O 2 -t 6 > /tmp/weir-up.txt
wait $down
grep 'SUM.*receiver' /tmp/weir-down.txt
grep 'SUM.*receiver' /tmp/weir-up.txt
finish
` + file("middle", fmt.Sprintf(lone, rest)) + `switch=$!
listen 5203
ip netns exec lan iperf3 -c 10.77.0.9 -p 5203 -B 10.77.0.1 -C cubic -O 2 -t 5 > /tmp/weir-lone.txt
grep receiver /tmp/weir-lone.txt
finish
`
		}
		output := runScript(t, script)
		disturbedBySwitches(t, output)
		rates := receivedRates(t, output)
		cases := []struct {
			name string
			link float64 // Mb/s
			miss float64 // of the link, at most
		}{{"two downloads next to two uploads", 50, 0.15}, {"two uploads next to two downloads", 20, 0.15},
			{"one upload", 20, 0.05}}
		if len(rates) != 2*len(cases) {
			t.Fatalf("%d rates\n%s", len(rates), output)
		}
		for i, c := range cases {
			abc, userFQ := rates[i], rates[len(cases)+i]
			t.Logf("%s: %.1f Mb/s with abc, %.1f with user_fq, of %g", c.name, abc, userFQ, c.link)
			if userFQ < 0.85*c.link {
				t.NoteDisturbed(fmt.Sprintf("user_fq has %.1f of %g Mb/s", userFQ, c.link))
			}
			if abc < userFQ-c.miss*c.link {
				t.Errorf("%s: %.1f Mb/s with abc, %.1f with user_fq, of %g", c.name, abc, userFQ, c.link)
			}
		}
	})
}

// disturbedBySwitches records a disturbance if the metrics of a switch in a script's output show frames that left
// late, or were lost in a ring.
func disturbedBySwitches(t *realtime.Try, output string) {
	t.Helper()
	inTime := 0.0
	for _, x := range regexp.MustCompile(`(?m)^(weir_switch_\S+) (\S+)$`).FindAllStringSubmatch(output, -1) {
		value, err := strconv.ParseFloat(x[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(x[1], "weir_switch_ring_lost"):
			if value > 0 {
				t.NoteDisturbed(fmt.Sprintf("%.0f frames lost in a ring", value))
			}
		case strings.HasSuffix(x[1], "_count"):
			disturbedByLateness(t, "", value, value-inTime)
		default: // of the buckets, which stand before the count
			inTime = value
		}
	}
}
