//go:build lab

package softswitch_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/internal/testkit/realtime"
)

// chain joins a namespace with two users, 10.77.0.1 and 10.77.0.2 (fd77::1), to one with a server, 10.77.0.9 (fd77::9),
// by a row of namespaces, each with an interface eth1 towards the users and eth2 towards the server.
const chain = `
children=
trap 'kill $children 2> /dev/null || true; wait $children || true' EXIT
put() { ip netns add $1; ip -n $1 link set lo up; }
put lan
from=lan; out=eth0
for n in %s; do
  put $n
  ip link add $out netns $from type veth peer name eth1 netns $n
  from=$n; out=eth2
done
put wan
ip link add $out netns $from type veth peer name eth0 netns wan
for n in %[1]s; do for i in eth1 eth2; do ip -n $n link set $i up; done; done
for n in lan wan; do ip netns exec $n ethtool -K eth0 tx off; done
for a in 10.77.0.1 10.77.0.2; do ip -n lan address add $a/24 dev eth0; done
ip -n wan address add 10.77.0.9/24 dev eth0
ip -n lan address add fd77::1/64 dev eth0 nodad
ip -n wan address add fd77::9/64 dev eth0 nodad
for n in lan wan; do ip -n $n link set eth0 up; done
begin() {
  ip netns exec $1 weir switch -c /tmp/weir-$1.yaml > /tmp/weir-$1.txt 2>&1 &
  children="$children $!"
  until grep -q 'switching between' /tmp/weir-$1.txt; do
    kill -0 $! || { cat /tmp/weir-$1.txt; exit 1; }
    sleep 0.1
  done
}
listen() {
  ip netns exec wan iperf3 -s -1 -p $1 > /dev/null &
  children="$children $!"
  until ip netns exec wan ss -ltn | grep -q ":$1 "; do sleep 0.1; done
}
`

// file returns the shell lines that write a switch's file.
func file(name, text string) string {
	return fmt.Sprintf("cat > /tmp/weir-%s.yaml <<'END'\n%s\nEND\nbegin %[1]s\n", name, text)
}

// TestDomainOfDocs checks that the documented domain protects downloads unchanged, with its two files in two switches.
// Of two users behind the first, the one with one connection gets at least a quarter of the trunk next to eight of the
// other. Without users: behind it gets a twentieth.
func TestDomainOfDocs(t *testing.T) {
	realtime.Test(t, func(t *realtime.Try) {
		defer t.WatchIdle()()
		doc, err := os.ReadFile("../../docs/switch.md")
		if err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(string(doc), "<!-- domain: begin -->\n")
		shown, _, _ = strings.Cut(shown, "<!-- domain: end -->")
		files := strings.Split(strings.ReplaceAll("\n"+shown, "\n    ", "\n"), "<!-- domain: next -->\n")
		if len(files) != 2 {
			t.Fatalf("%d files of a domain", len(files))
		}
		output := runScript(t, fmt.Sprintf(chain, "west east")+file("west", files[0])+file("east", files[1])+`
listen 5201
listen 5202
ip netns exec lan iperf3 -c 10.77.0.9 -p 5201 -B 10.77.0.1 -R -O 1 -t 8 -P 8 > /tmp/weir-eight.txt &
eight=$!
ip netns exec lan iperf3 -c 10.77.0.9 -p 5202 -B 10.77.0.2 -R -O 1 -t 8 > /tmp/weir-one.txt
wait $eight
grep SUM.*receiver /tmp/weir-eight.txt
grep receiver /tmp/weir-one.txt
`)
		rates := receivedRates(t, output)
		if len(rates) != 2 || rates[1] < (rates[0]+rates[1])/4 || rates[0]+rates[1] < 12 {
			t.Errorf("downloads of eight connections and of one get %v of 20 Mb/s\n%s", rates, output)
		}
	})
}

// TestCustomerOnLab checks that a customer with two addresses of IPv4 and one of IPv6, and a plan of 10 Mb/s, gets 10
// Mb/s by each and by all together, up and down, of 12 Mb/s that its addresses send in equal parts. Two plans would
// pass all. The frames carry UDP, because a TCP connection recovers too slowly from a policer's losses where hosts
// stall.
func TestCustomerOnLab(t *testing.T) {
	realtime.Test(t, func(t *realtime.Try) {
		defer t.WatchIdle()()
		var script strings.Builder
		fmt.Fprintf(&script, chain, "middle")
		script.WriteString(file("middle", `
ports: {lan: {interface: eth1, rate: 100Mbps}, wan: {interface: eth2, rate: 100Mbps}}
users: {behind: lan, named: {home: [10.77.0.1, 10.77.0.2, "fd77::1"]}}
switch: [{plan: {rates: {home: 10Mbps}}}, forward]
`))
		connections := map[string]string{"IPv4": "10.77.0.9 -B 10.77.0.1", "the other IPv4": "10.77.0.9 -B 10.77.0.2",
			"IPv6": "fd77::9 -B fd77::1"}
		mixes := [][]string{{"IPv4"}, {"IPv6"}, {"IPv4", "IPv6"}, {"IPv4", "the other IPv4", "IPv6"}}
		for _, direction := range []string{"", "-R"} {
			for _, mix := range mixes {
				for i := range mix {
					fmt.Fprintf(&script, "listen %d\n", 5201+i)
				}
				for i, c := range mix {
					fmt.Fprintf(&script, "ip netns exec lan iperf3 -c %s -p %d %s -u -b %dk -t 4 > /tmp/weir-%d.txt & p%[5]d=$!\n",
						connections[c], 5201+i, direction, 12_000/len(mix), i)
				}
				for i := range mix {
					fmt.Fprintf(&script, "wait $p%d\ngrep receiver /tmp/weir-%[1]d.txt\n", i)
				}
			}
		}
		output := runScript(t, script.String())
		rates := receivedRates(t, output)
		for _, direction := range []string{"up", "down"} {
			for _, mix := range mixes {
				if len(rates) < len(mix) {
					t.Fatalf("%s %s: no rates\n%s", direction, mix, output)
				}
				total := 0.0
				for _, r := range rates[:len(mix)] {
					total += r
				}
				if rates = rates[len(mix):]; total < 9 || total > 10.5 { // headers are 3 %
					t.Errorf("%s, %s: %.1f Mb/s", direction, strings.Join(mix, " and "), total)
				}
			}
		}
	})
}
