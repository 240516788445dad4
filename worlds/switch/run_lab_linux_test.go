//go:build lab

package softswitch_test

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"golang.org/x/sys/unix"

	"weir/internal/testkit/await"
	"weir/internal/testkit/realtime"
)

const shaped = `
ports:
  left: {interface: left}
  right: {interface: right, rate: %s, buffer: %d packets}
switch: %s
metrics: %s
`

// TestSwitch_GoodputFillsLink checks that a TCP flow gets the payload's share of 50 Mb/s: 1448 of 1514 bytes
// (docs/design.md#bytes-queues-order), 47.82 Mb/s.
func TestSwitch_GoodputFillsLink(t *testing.T) {
	const want = 50e6 * 1448 / 1514
	realtime.Test(t, func(t *realtime.Try) {
		w := lay(t, 1500, "left", "right")
		w.loopback()
		w.open(fmt.Sprintf(shaped, "50Mbps", 100, "[forward]", "9465"))
		defer w.judge(t)()
		got, err := w.transfer("left", "right", netip.MustParseAddrPort("10.9.0.2:5001"), 1, time.Second,
			2*time.Second, "cubic")
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%.2f Mb/s of %.2f", got/1e6, want/1e6)
		if got <= 0.99*want || got >= 1.01*want {
			t.Errorf("goodput is %.2f Mb/s, want %.2f within a percent", got/1e6, want/1e6)
		}
	})
}

// TestABC_SharesLinkBetweenUsers checks the purpose of P4-ABC: of a user with eight connections and one with a single
// one, each gets its half with it, and the single one much less without (P4-ABC figure 5). A change of its parameters
// by SIGHUP keeps the meters' measurements, and loses no frame.
func TestABC_SharesLinkBetweenUsers(t *testing.T) { realtime.Test(t, fairWithABC) }

func fairWithABC(t *realtime.Try) {
	w := lay(t, 1500, "heavy", "light", "server")
	w.loopback()
	const file = `
ports:
  heavy: {interface: heavy}
  light: {interface: light}
  server: {interface: server, rate: 50Mbps, buffer: 24 packets}
switch: %s
metrics: 9465
`
	const abc = "[forward, {abc: {memory: %s, q_min: 6 packets, q_base: 20 packets, gamma: 16 packets, aggregates: " +
		"{10.9.0.1: 10kbps, 10.9.0.2: 10kbps}}}]"
	p := w.open(fmt.Sprintf(file, "[forward]"))
	defer w.judge(t)()
	both := func() (heavy, light float64) {
		t.Helper()
		results := make(chan error, 1)
		go func() {
			var err error
			heavy, err = w.transfer("heavy", "server", netip.MustParseAddrPort("10.9.0.3:5001"), 8, time.Second,
				3*time.Second, "cubic")
			results <- err
		}()
		light, err := w.transfer("light", "server", netip.MustParseAddrPort("10.9.0.3:5002"), 1, time.Second,
			3*time.Second, "cubic")
		if other := <-results; err != nil || other != nil {
			t.Fatal(err, other)
		}
		return heavy, light
	}
	heavy, light := both()
	t.Logf("without ABC: %.1f and %.1f Mb/s", heavy/1e6, light/1e6)
	without := light / (heavy + light)
	p.write(fmt.Sprintf(file, fmt.Sprintf(abc, "3s")))
	p.Signal(syscall.SIGHUP)
	p.awaits("abc starts now")
	heavy, light = both()
	t.Logf("with ABC: %.1f and %.1f Mb/s", heavy/1e6, light/1e6)
	with := light / (heavy + light)
	if with < 0.3 || with < without+0.1 {
		t.Errorf("the light user's share is %.2f with ABC, %.2f without", with, without)
	}
	before := w.metrics()
	p.write(fmt.Sprintf(file, fmt.Sprintf(abc, "5s")))
	p.Signal(syscall.SIGHUP)
	p.awaits("abc has other parameters and keeps its meters")
	after := w.metrics()
	for _, user := range []string{"10.9.0.1", "10.9.0.2"} {
		key := `weir_abc_user_activity{user="` + user + `"}`
		a, b := before[key], after[key]
		if a < 8 || b > a+0.1 || b < a-1 { // log2(24 Mb/s / 10 kb/s) is 11; with 3 s of memory it falls by 0.5 a second
			t.Errorf("activity of %s was %.2f, and is %.2f with other parameters: %v", user, a, b, after)
		}
	}
	if after[`weir_switch_dropped_frames_total{port="server",reason="activity"}`] == 0 {
		t.Error("ABC has dropped nothing")
	}
}

// TestReload_LosesNoFrame checks that a reload between two packets loses none: numbered datagrams all arrive, in order,
// over a dozen changes of rates, buffers and programs. Impossible or wrong changes are refused, and the old programs
// continue.
func TestReload_LosesNoFrame(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	file := func(rate string, buffer int, programs string) string {
		return fmt.Sprintf(shaped, rate, buffer, programs, "9465")
	}
	p := w.open(file("10Mbps", 1000, "[forward]"))
	came, end := w.numbered(t, "left", "right", netip.MustParseAddrPort("10.9.0.2:7"))
	for i := range 6 {
		for k, programs := range []string{"[forward, {abc: {q_base: 900 packets, q_min: 900 packets}}]",
			"[forward, {abc: {q_base: 950 packets, q_min: 900 packets, memory: 1s}}, {ecn: {}}]"} {
			p.write(file(fmt.Sprintf("%dMbps", 10+i+k), 1000+i, programs))
			before := strings.Count(p.Stderr(), "read again")
			p.Signal(syscall.SIGHUP)
			await.AwaitCondition(t, "reload", func() bool { return strings.Count(p.Stderr(), "read again") > before })
			more := came() + 20
			await.AwaitCondition(t, "datagrams", func() bool { return came() >= more })
		}
	}
	for _, x := range [][2]string{
		{strings.Replace(file("10Mbps", 100, "[forward]"), "interface: right", "interface: eth7", 1),
			"ports and their interfaces cannot change while the switch runs"},
		{file("10 Mb", 100, "[forward]"), "switch.yaml:4:"},
		{file("10Mbps", 100, "[forward, blue]"), `unknown program "blue"`},
		{strings.Replace(file("10Mbps", 100, "[forward]"), "9465", "none", 1), "metrics cannot change"},
	} {
		p.write(x[0])
		p.Signal(syscall.SIGHUP)
		p.awaits(x[1])
	}
	os.Remove(p.file)
	p.Signal(syscall.SIGHUP)
	p.awaits("no such file")
	if m := w.metrics(); m[`weir_switch_reloads_total{result="done"}`] != 12 ||
		m[`weir_switch_reloads_total{result="refused"}`] != 5 {
		t.Errorf("%v reloads, %v refused", m[`weir_switch_reloads_total{result="done"}`],
			m[`weir_switch_reloads_total{result="refused"}`])
	}
	t.Logf("%d datagrams over 12 changes and 5 refusals", end())
}

// TestReload_FixesPortWithLowRateInLab checks that a rate that is far too low gives a warning at the reload, and
// that the next reload with a right one makes the port usable again at once.
func TestReload_FixesPortWithLowRateInLab(t *testing.T) {
	for _, programs := range []string{"[forward]", "[forward, {telemetry: {identity: 3}}, {abc: {}}]"} {
		t.Run(programs, func(t *testing.T) { mendRate(t, programs) })
	}
}

// mendRate reloads a switch with the given programs with a rate that is too low, and then with the old one again.
func mendRate(t *testing.T, programs string) {
	w := lay(t, 1500, "left", "right")
	file := func(rate string) string { return fmt.Sprintf(shaped, rate, 100, programs, "none") }
	p := w.open(file("50Mbps"))
	to := netip.MustParseAddrPort("10.9.0.2:7")
	w.echo("right", to)
	if _, err := w.ask("left", to, 1000, 3); err != nil { // neighbours are known from now on
		t.Fatal(err)
	}
	p.write(file("100bps"))
	p.Signal(syscall.SIGHUP)
	p.awaits("switch.yaml:4:35: port right: a frame of 1514 bytes takes 121 s at 100bps")
	p.awaits("read again")
	back := w.tell("left", to, 1400)
	p.write(file("50Mbps"))
	if back() {
		t.Fatal("1.4 kB pass at 100 bit/s")
	}
	p.Signal(syscall.SIGHUP)
	await.AwaitCondition(t, "the second reload", func() bool { return strings.Count(p.Stderr(), "read again") == 2 })
	await.AwaitCondition(t, "what waited", back)
	if _, err := w.ask("left", to, 1400, 1); err != nil {
		t.Errorf("after the right rate: %v", err)
	}
	p.stop()
}

// TestOwnProgramRuns checks that a program of only this binary runs between real interfaces. Its metrics are shown with
// the switch's, and a reload keeps its counts.
func TestOwnProgramRuns(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	p := w.open(fmt.Sprintf(shaped, "10Mbps", 100, "[forward, counter]", "9465"))
	to := netip.MustParseAddrPort("10.9.0.2:7")
	w.echo("right", to)
	const counted = `own_frames_total{port="right"}`
	for range 5 {
		if _, err := w.ask("left", to, 1000, 3); err != nil {
			t.Fatal(err)
		}
	}
	before := w.metrics()
	if before[counted] < 5 || before["own_hosts"] < 2 {
		t.Errorf("%v frames of %v hosts", before[counted], before["own_hosts"])
	}
	p.write(fmt.Sprintf(shaped, "20Mbps", 100, "[forward, counter]", "9465"))
	p.Signal(syscall.SIGHUP)
	p.awaits("read again")
	if after := w.metrics(); after[counted] < before[counted] || after["own_hosts"] < 2 {
		t.Errorf("after a reload %v frames of %v hosts, before %v", after[counted], after["own_hosts"], before[counted])
	}
	p.stop()
}

// room lets a socket keep arriving datagrams while this process stalls: by default it keeps 90 datagrams of 1 kB.
func room(t testing.TB, c *net.UDPConn) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const bytes = 16 << 20 // 7 s of them
	if e := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bytes)
	}); e != nil || err != nil {
		t.Fatal(e, err)
	}
}

// numbered sends numbered datagrams from one host to another, 8 Mb/s, until end is called. The function end
// requires that all have arrived in order and returns their number; came returns the number so far.
func (w *wire) numbered(t testing.TB, from, host string, to netip.AddrPort) (came func() int64, end func() int) {
	var out, in *net.UDPConn
	address := net.UDPAddrFromAddrPort(to)
	if err := w.do(host, func() (err error) { in, err = net.ListenUDP("udp", address); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	room(t, in)
	numbers, count := make(chan []string), new(atomic.Int64)
	go func() { // until the last one
		var all []string
		b := make([]byte, 2000)
		for {
			in.SetReadDeadline(time.Now().Add(await.HangLimit))
			k, err := in.Read(b)
			if err != nil || string(b[:min(k, 8)]) == "the end." {
				numbers <- all
				return
			}
			all = append(all, string(b[:min(k, 8)]))
			count.Add(1)
		}
	}()
	if err := w.do(from, func() (err error) { out, err = net.DialUDP("udp", nil, address); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	stop, sent := make(chan bool), make(chan int)
	go func() {
		n := 0
		for b := make([]byte, 1000); ; n++ {
			select {
			case <-stop:
				sent <- n
				return
			default:
			}
			copy(b, fmt.Sprintf("%08d", n))
			out.Write(b)
			time.Sleep(time.Millisecond)
		}
	}()
	return count.Load, func() int {
		close(stop)
		n := <-sent
		out.Write([]byte("the end."))
		got := <-numbers
		for i, x := range got {
			if x != fmt.Sprintf("%08d", i) {
				t.Fatalf("of %d datagrams, number %d is %q", n, i, x)
			}
		}
		if len(got) != n {
			t.Errorf("%d of %d datagrams came", len(got), n)
		}
		return n
	}
}

// TestMetrics_CountTraffic checks that the page has metrics, as text and as OpenMetrics, with the counted traffic.
func TestMetrics_CountTraffic(t *testing.T) {
	w := lay(t, 1500, "left", "right")
	w.loopback()
	w.open(fmt.Sprintf(shaped, "50Mbps", 100, "[forward, abc]", "9465") + "users: {new: 0s}\n")
	w.echo("right", netip.MustParseAddrPort("10.9.0.2:7"))
	for range 20 {
		if _, err := w.ask("left", netip.MustParseAddrPort("10.9.0.2:7"), 1000, 3); err != nil {
			t.Fatal(err)
		}
	}
	text, kind, err := w.scrape("application/openmetrics-text; version=1.0.0")
	if err != nil || !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("%v: %s\n%s", err, kind, text)
	}
	if text, _, err = w.scrape("text/plain"); err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if f := families["weir_switch_lateness_seconds"]; f == nil || f.Metric[0].GetHistogram().GetSampleCount() < 40 {
		t.Errorf("lateness: %v", f)
	}
	m := w.metrics()
	for key, least := range map[string]float64{
		`weir_switch_received_frames_total{port="left"}`: 20, `weir_switch_sent_frames_total{port="right"}`: 20,
		`weir_switch_received_bytes_total{port="left"}`: 20 * 1042,
		"weir_switch_up": 1, "weir_switch_users": 2, `weir_abc_user_rate_bits_per_second{user="10.9.0.1"}`: 1000,
		`weir_abc_user_accepted_bytes_total{user="10.9.0.1"}`: 20 * 1042,
		`weir_abc_user_dropped_frames_total{user="10.9.0.1"}`: 0,
		`weir_abc_user_activity{user="10.9.0.2"}`:             -10, `weir_switch_reloads_total{result="done"}`: 0,
		"weir_switch_cpu_seconds_total": 0,
	} {
		if v, ok := m[key]; !ok || v < least {
			t.Errorf("%s is %v, want %v at least", key, v, least)
		}
	}
	// Traffic in one direction only is counted at the right ends.
	const some = 50
	out := w.socket("left", 1500)
	for range some {
		out.Put(append(append(mac(1), mac(0)...), make([]byte, 488)...))
		if err := out.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // their user has been silent, and is too active in a burst
	}
	await.AwaitCondition(t, "the last frame", func() bool { // in bytes: hosts' own ones are small
		const sent = `weir_switch_sent_bytes_total{port="right"}`
		return w.metrics()[sent] >= m[sent]+500*some
	})
	after := w.metrics()
	for key, least := range map[string]float64{
		`weir_switch_received_frames_total{port="left"}`: some, `weir_switch_sent_frames_total{port="right"}`: some,
		`weir_switch_received_bytes_total{port="left"}`: 500 * some,
		`weir_switch_sent_bytes_total{port="right"}`:    500 * some, `weir_switch_received_frames_total{port="right"}`: 0,
		`weir_switch_sent_frames_total{port="left"}`:     0,
		`weir_switch_received_bytes_total{port="right"}`: 0, `weir_switch_sent_bytes_total{port="left"}`: 0,
		"weir_switch_lateness_seconds_count": some,
	} {
		few := 20.0 // that hosts send by themselves
		if strings.Contains(key, "bytes") {
			few *= 100
		}
		if more := after[key] - m[key]; more < least || more > least+few {
			t.Errorf("%s has grown by %v, want %v", key, more, least)
		}
	}
	var help int
	for key := range m {
		if strings.HasPrefix(key, "weir_build_info{") {
			help++
		}
	}
	if help != 1 {
		t.Errorf("%d lines of weir_build_info\n%s", help, text)
	}
}
