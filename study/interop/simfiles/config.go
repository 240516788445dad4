package simfiles

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"weir/core/unit"
)

// ValueKind is the type of the value of a configuration's key.
type ValueKind uint8

// Kinds of values.
const (
	Flag     ValueKind = iota // 0 or 1
	Count                     // a whole number
	Fraction                  // a decimal number
	Rate                      // 50Mb/s
	Delay                     // 1us
	Micros                    // microseconds
	Nanos                     // nanoseconds
	Seconds                   // seconds
	File                      // a path
	RateMap                   // n, then n times a link's rate in bit/s and a number
	Failure                   // microseconds, then the two ends of a link
)

// Key is one that a config.txt can have.
type Key struct {
	Name      string
	Kind      ValueKind
	Low, High float64 // of Count and Fraction, and of the numbers of a RateMap
	Doc       string
}

// Modes lists the values of CC_MODE that an experiment can have.
const Modes = "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP) or 10 (HPCC-PINT)"

// Keys are all that the simulator knows, in the order of its own file (HPCC simulator config.txt).
var Keys = []Key{
	{"ENABLE_QCN", Flag, 0, 1, "switches mark ECN"},
	{"USE_DYNAMIC_PFC_THRESHOLD", Flag, 0, 1, "PFC's threshold follows the free buffer"},
	{"PAUSE_TIME", Micros, 0, 0, "how long a PFC pause holds"},
	{"DATA_RATE", Rate, 0, 0, "rate of links; the topology file has it"},
	{"LINK_DELAY", Delay, 0, 0, "delay of links; the topology file has it"},
	{"PACKET_PAYLOAD_SIZE", Count, 1, 65507, "payload of a packet, bytes"},
	{"TOPOLOGY_FILE", File, 0, 0, "topology"},
	{"FLOW_FILE", File, 0, 0, "flows"},
	{"TRACE_FILE", File, 0, 0, "nodes whose packets are logged"},
	{"TRACE_OUTPUT_FILE", File, 0, 0, "log of packets"},
	{"FCT_OUTPUT_FILE", File, 0, 0, "flow completion times"},
	{"PFC_OUTPUT_FILE", File, 0, 0, "log of PFC"},
	{"SIMULATOR_STOP_TIME", Seconds, 0, 0, "end of the run"},
	{"CC_MODE", Count, 0, 1000, "congestion control: 1 DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT"},
	{"ALPHA_RESUME_INTERVAL", Micros, 0, 0, "DCQCN: alpha's timer"},
	{"RATE_DECREASE_INTERVAL", Micros, 0, 0, "DCQCN: time between decreases"},
	{"CLAMP_TARGET_RATE", Flag, 0, 1, "DCQCN: every decrease lowers the target rate"},
	{"RP_TIMER", Micros, 0, 0, "DCQCN: increase timer"},
	{"EWMA_GAIN", Fraction, 0, 1, "DCQCN, DCTCP: g"},
	{"FAST_RECOVERY_TIMES", Count, 0, 1000, "DCQCN: F"},
	{"RATE_AI", Rate, 0, 0, "additive increase"},
	{"RATE_HAI", Rate, 0, 0, "hyper increase"},
	{"MIN_RATE", Rate, 0, 0, "least rate of a flow"},
	{"DCTCP_RATE_AI", Rate, 0, 0, "DCTCP: additive increase"},
	{"ERROR_RATE_PER_LINK", Fraction, 0, 1, "share of packets that links lose"},
	{"L2_CHUNK_SIZE", Count, 0, 1 << 40, "with L2_BACK_TO_ZERO: bytes of a chunk"},
	{"L2_ACK_INTERVAL", Count, 0, 1 << 40, "bytes an acknowledgement; 1: one a packet"},
	{"L2_BACK_TO_ZERO", Flag, 0, 1, "a loss sends the chunk again from its start"},
	{"HAS_WIN", Flag, 0, 1, "a window bounds what is in flight"},
	{"GLOBAL_T", Flag, 0, 1, "the largest base RTT is that of all flows"},
	{"VAR_WIN", Flag, 0, 1, "the window follows the rate"},
	{"FAST_REACT", Flag, 0, 1, "HPCC: reacts to each acknowledgement"},
	{"U_TARGET", Fraction, 0, 1, "HPCC: eta"},
	{"MI_THRESH", Count, 0, 1 << 30, "HPCC: maxStage"},
	{"INT_MULTI", Count, 1, 1 << 20, "HPCC: unit of bytes and queues in the telemetry"},
	{"MULTI_RATE", Flag, 0, 1, "HPCC: a rate for each hop"},
	{"SAMPLE_FEEDBACK", Flag, 0, 1, "HPCC: fast reactions skip hops without a queue"},
	{"PINT_LOG_BASE", Fraction, 1, 2, "HPCC-PINT: base of its code"},
	{"PINT_PROB", Fraction, 0, 1, "HPCC-PINT: share of acknowledgements that count"},
	{"RATE_BOUND", Flag, 0, 1, "the rate paces packets"},
	{"ACK_HIGH_PRIO", Flag, 0, 1, "acknowledgements go first"},
	{"LINK_DOWN", Failure, 0, 0, "a link that goes down, so long after 2 s; 0 0 0: none"},
	{"ENABLE_TRACE", Flag, 0, 1, "packets are logged"},
	{"KMAX_MAP", RateMap, 0, 1 << 40, "ECN: queue in KB from which every packet is marked, by rate"},
	{"KMIN_MAP", RateMap, 0, 1 << 40, "ECN: queue in KB from which packets are marked, by rate"},
	{"PMAX_MAP", RateMap, 0, 1, "ECN: probability at KMAX, by rate"},
	{"BUFFER_SIZE", Count, 0, 1 << 20, "buffer of a switch, MB"},
	{"QLEN_MON_FILE", File, 0, 0, "histograms of queues"},
	{"QLEN_MON_START", Nanos, 0, 0, "when they begin"},
	{"QLEN_MON_END", Nanos, 0, 0, "when they end"},
}

// KeyByName finds a key; nil if there is none.
func KeyByName(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}

// Setting is one key of a file with its value: the field that the key's Kind names.
type Setting struct {
	Key    string
	Number float64   // Flag, Count, Fraction
	Rate   unit.Rate // Rate
	Time   unit.Time // Delay, Micros, Nanos, Seconds; Failure: when
	Text   string    // File
	Map    []AtRate  // RateMap
	Ends   [2]int    // Failure
	Line   int       // of the file, from 1
	Column int       // of the value
}

// AtRate is a number that holds for links of a rate.
type AtRate struct {
	Rate  unit.Rate
	Value float64
}

// Config is a config.txt: its settings in the file's order, each key once.
type Config []Setting

// Get finds a key's setting; nil if the file does not have it.
func (c Config) Get(key string) *Setting {
	for i := range c {
		if c[i].Key == key {
			return &c[i]
		}
	}
	return nil
}

// On reports whether a flag is set.
func (c Config) On(key string) bool {
	s := c.Get(key)
	return s != nil && s.Number != 0
}

// mostRates bounds a RateMap.
const mostRates = 1000

// maxConfigErrors limits how many errors of a config.txt are listed.
const maxConfigErrors = 100

// ReadConfig reads a config.txt: a key and its value on each line. A key that the
// simulator does not know, which it would pass over, and one that is there twice, of
// which it would take the last, are errors. All errors are returned together, as FormatErrors, with the settings that
// are right.
func ReadConfig(r io.Reader, file string) (Config, error) {
	l := newLines(r, file)
	var c Config
	var wrong FormatErrors
	add := func(key string, err error) {
		e := err.(*FormatError)
		e.Key = key
		wrong = append(wrong, e)
	}
	listed := false
	for len(wrong) < maxConfigErrors && l.next() {
		k := KeyByName(l.words[0])
		if k == nil {
			add("", l.unknown(!listed))
			listed = true
			continue
		}
		if old := c.Get(k.Name); old != nil {
			add("", l.errorf(0, "%s is given twice; the first is in line %d", k.Name, old.Line))
			continue
		}
		s, err := k.read(l)
		if err != nil {
			add(k.Name, err)
			continue
		}
		c = append(c, s)
	}
	if err := l.err(); err != nil {
		add("", err)
	}
	if len(c) == 0 && len(wrong) == 0 {
		add("", l.ends("the file is empty; a line is a key and its value, such as CC_MODE 3"))
	}
	if len(wrong) > 0 {
		return c, wrong
	}
	return c, nil
}

// unknown is the error of a line whose key is not known. It lists all keys on demand.
func (l *lines) unknown(list bool) error {
	names := make([]string, 0, len(Keys))
	for i := range Keys {
		names = append(names, Keys[i].Name)
	}
	if near := nearest(l.words[0], names); near != "" {
		return l.errorf(0, "key %q is not known; did you mean %s?", l.words[0], near)
	}
	if !list {
		return l.errorf(0, "key %q is not known", l.words[0])
	}
	return l.errorf(0, "key %q is not known; allowed: %s", l.words[0], strings.Join(names, ", "))
}

// read reads the value on the line in hand.
func (k *Key) read(l *lines) (Setting, error) {
	s := Setting{Key: k.Name, Line: l.line}
	if len(l.words) == 1 {
		return s, l.ends("the line ends; %s needs %s", k.Name, k.wants())
	}
	s.Column = l.column(1)
	words := 2
	var err error
	switch k.Kind {
	case Flag, Count, Fraction:
		if s.Number, err = decimal(l.words[1]); err != nil || !(s.Number >= k.Low && s.Number <= k.High) ||
			k.Kind != Fraction && s.Number != float64(int64(s.Number)) {
			return s, k.wrong(l, 1)
		}
	case Rate:
		if s.Rate, err = parseRate(l.words[1]); errors.Is(err, unit.ErrLarge) {
			return s, k.tooLarge(l, unit.Rate(math.MaxInt64))
		} else if err != nil {
			return s, k.wrong(l, 1)
		}
	case Delay:
		s.Time, err = unit.ParseTime(l.words[1])
		if errors.Is(err, unit.ErrLarge) || s.Time == unit.Never {
			return s, k.tooLarge(l, unit.Never-1)
		} else if err != nil {
			return s, k.wrong(l, 1)
		}
	case Micros:
		s.Time, err = k.period(l, "us")
	case Nanos:
		s.Time, err = k.period(l, "ns")
	case Seconds:
		s.Time, err = k.period(l, "s")
	case File:
		s.Text = l.words[1]
	case RateMap:
		words, err = k.rates(l, &s)
	case Failure:
		if words = 4; len(l.words) >= words {
			err = k.failure(l, &s)
		}
	}
	switch {
	case err != nil:
		return s, err
	case len(l.words) < words:
		return s, l.ends("the line ends after %d of %d words; %s needs %s", len(l.words), words, k.Name, k.wants())
	case len(l.words) > words:
		return s, l.errorf(words, "%q stands behind the value of %s", l.words[words], k.Name)
	}
	return s, nil
}

// wrong is the error of a word that is not what the key wants.
func (k *Key) wrong(l *lines, word int) error {
	return l.errorf(word, "%s is %q; %s is allowed", k.Name, l.words[word], k.wants())
}

// period reads a time that is a number of units.
func (k *Key) period(l *lines, unitName string) (unit.Time, error) {
	if strings.Trim(l.words[1], "0123456789.") != "" {
		return 0, k.wrong(l, 1)
	}
	t, err := unit.ParseTime(l.words[1] + unitName)
	if errors.Is(err, unit.ErrLarge) || t == unit.Never {
		each, _ := unit.ParseTime("1" + unitName)
		return t, l.errorf(1, "%s is %q; %s is allowed, at most %d", k.Name, l.words[1], k.wants(), (unit.Never-1)/each)
	}
	if err != nil {
		return t, k.wrong(l, 1)
	}
	return t, nil
}

// tooLarge is the error of a value above the largest possible one.
func (k *Key) tooLarge(l *lines, most fmt.Stringer) error {
	return l.errorf(1, "%s is %q; %s is allowed, at most %v", k.Name, l.words[1], k.wants(), most)
}

// rates reads how many rates there are, then each with its value, as far as the line goes. words
// is how many the line must have.
func (k *Key) rates(l *lines, s *Setting) (words int, err error) {
	n, err := l.number(1, "the number of rates of "+k.Name, 0, mostRates)
	if err != nil {
		return 0, err
	}
	words = 2 + 2*int(n)
	for i := 2; i < min(words, len(l.words)); i++ {
		if i%2 == 0 {
			rate, err := l.number(i, "a rate of "+k.Name+" in bit/s", 1, 1<<50)
			if err != nil {
				return words, err
			}
			for _, old := range s.Map {
				if old.Rate == unit.Rate(rate) {
					return words, l.errorf(i, "%s has the rate %d twice", k.Name, rate)
				}
			}
			s.Map = append(s.Map, AtRate{Rate: unit.Rate(rate)})
			continue
		}
		v, err := decimal(l.words[i])
		if err != nil || !(v >= k.Low && v <= k.High) {
			return words, l.errorf(i, "a value of %s is %q; a number from %v to %v is allowed", k.Name, l.words[i], k.Low,
				k.High)
		}
		s.Map[len(s.Map)-1].Value = v
	}
	return words, nil
}

// failure reads when a link fails, and its ends.
func (k *Key) failure(l *lines, s *Setting) (err error) {
	if s.Time, err = k.period(l, "us"); err != nil {
		return err
	}
	for e := range s.Ends {
		n, err := l.number(2+e, "a node of "+k.Name, 0, largestNode)
		if err != nil {
			return err
		}
		s.Ends[e] = int(n)
	}
	return nil
}

// wants says what a key's value is.
func (k *Key) wants() string {
	switch k.Kind {
	case Flag:
		return "0 or 1"
	case Count:
		if k.Name == "CC_MODE" {
			return Modes
		}
		return fmt.Sprintf("a whole number from %.0f to %.0f", k.Low, k.High)
	case Fraction:
		return fmt.Sprintf("a number from %v to %v", k.Low, k.High)
	case Rate:
		return "a rate such as 50Mb/s"
	case Delay:
		return "a time such as 1us"
	case Micros:
		return "a number of microseconds"
	case Nanos:
		return "a number of nanoseconds"
	case Seconds:
		return "a number of seconds"
	case RateMap:
		return "a number of rates, and for each a rate in bit/s and a value"
	case Failure:
		return "a number of microseconds and two nodes"
	}
	return "a file"
}

// decimal reads a number as people write it.
func decimal(s string) (float64, error) {
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// rateUnits are those of ns-3's DataRate that are in decimal bits, the longest first.
var rateUnits = []struct {
	name string
	unit string
}{{"Gb/s", "Gbps"}, {"Gbps", "Gbps"}, {"Mb/s", "Mbps"}, {"Mbps", "Mbps"}, {"kb/s", "kbps"}, {"Kb/s", "kbps"},
	{"kbps", "kbps"}, {"Kbps", "kbps"}, {"b/s", "bps"}, {"bps", "bps"}}

func parseRate(s string) (unit.Rate, error) {
	for _, u := range rateUnits {
		if number, ok := strings.CutSuffix(s, u.name); ok && number != "" && strings.Trim(number, "0123456789.") == "" {
			return unit.ParseRate(number + u.unit)
		}
	}
	return 0, strconv.ErrSyntax
}

// write writes the settings as ReadConfig reads them, in their order.
func (c Config) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range c {
		s := &c[i]
		k := KeyByName(s.Key)
		if k == nil {
			return fmt.Errorf("simfiles: %q is no key of a config.txt", s.Key)
		}
		fmt.Fprintf(b, "%s %s\n", s.Key, k.write(s))
	}
	return b.Flush()
}

func (k *Key) write(s *Setting) string {
	plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	// in is a time in a unit, exactly.
	in := func(each unit.Time) string {
		text := strconv.FormatInt(int64(s.Time/each), 10)
		if rest := s.Time % each; rest > 0 {
			fraction := strconv.FormatInt(int64(each+rest), 10)[1:] // with its leading zeros: each is a power of ten
			text += "." + strings.TrimRight(fraction, "0")
		}
		return text
	}
	switch k.Kind {
	case Rate:
		for _, u := range []struct {
			each unit.Rate
			name string
		}{{unit.Gbps, "Gb/s"}, {unit.Mbps, "Mb/s"}, {unit.Kbps, "kb/s"}} {
			if s.Rate > 0 && s.Rate%u.each == 0 {
				return fmt.Sprintf("%d%s", s.Rate/u.each, u.name)
			}
		}
		return fmt.Sprintf("%db/s", s.Rate)
	case Delay:
		return s.Time.String()
	case Micros:
		return in(unit.Microsecond)
	case Nanos:
		return in(unit.Nanosecond)
	case Seconds:
		return in(unit.Second)
	case File:
		return s.Text
	case RateMap:
		text := strconv.Itoa(len(s.Map))
		for _, m := range s.Map {
			text += fmt.Sprintf(" %d %s", m.Rate, plain(m.Value))
		}
		return text
	case Failure:
		return fmt.Sprintf("%s %d %d", in(unit.Microsecond), s.Ends[0], s.Ends[1])
	}
	return plain(s.Number)
}

// nearest is the word of a list that a slip probably meant: at most a third of its
// letters are otherwise. "" if none is near.
func nearest(s string, list []string) string {
	best, name := 1+min(len(s), 64)/3, ""
	for _, other := range list {
		if d := distance(s, other, best); d < best {
			best, name = d, other
		}
	}
	return name
}

// distance is Levenshtein's, or most if it is not below that.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], most)
}
