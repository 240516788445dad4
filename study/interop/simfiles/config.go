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

// ValueKind is the type of a key's value.
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

// Key describes a key of a config.txt.
type Key struct {
	Name      string
	Kind      ValueKind
	Low, High float64 // bounds of Count and Fraction, and of the values of a RateMap
	Doc       string
}

// ModeNames lists the values of CC_MODE that an experiment can have.
const ModeNames = "1 (DCQCN), 3 (HPCC), 7 (TIMELY), 8 (DCTCP) or 10 (HPCC-PINT)"

// Keys lists all keys of the simulator in the order of its own file (HPCC simulator config.txt).
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

// FindKey returns the key of a name; nil if it does not exist. The result points into Keys and must not be changed.
func FindKey(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}

// Setting is a key of a file with its value in the field for the key's Kind.
type Setting struct {
	Key    string
	Number float64     // Flag, Count, Fraction
	Rate   unit.Rate   // Rate
	Time   unit.Time   // Delay, Micros, Nanos, Seconds; Failure: time of the failure
	Text   string      // File
	Map    []RateValue // RateMap
	Ends   [2]int      // Failure
	Line   int         // of the file, from 1
	Column int         // of the value
}

// RateValue is a value for links of a rate.
type RateValue struct {
	Rate  unit.Rate
	Value float64
}

// Config holds the settings of a config.txt in the file's order. Each key occurs once.
type Config []Setting

// Get returns the setting of a key; nil if the file lacks the key. The result points into c.
func (c Config) Get(key string) *Setting {
	for i := range c {
		if c[i].Key == key {
			return &c[i]
		}
	}
	return nil
}

// IsSet reports whether a flag is set to another value than 0; false if the file lacks it.
func (c Config) IsSet(key string) bool {
	s := c.Get(key)
	return s != nil && s.Number != 0
}

// maxRates limits the entries of a RateMap.
const maxRates = 1000

// maxConfigErrors limits how many errors of a config.txt are listed.
const maxConfigErrors = 100

// ReadConfig reads a config.txt with a key and its value on each line. An unknown key (the simulator ignores it) and a
// repeated key (the simulator uses the last value) are errors. It returns up to maxConfigErrors errors together as
// FormatErrors, with the correct settings. file names the file in errors.
func ReadConfig(r io.Reader, file string) (Config, error) {
	l := newLineReader(r, file)
	var c Config
	var wrong FormatErrors
	add := func(key string, err error) {
		e := err.(*FormatError)
		e.Key = key
		wrong = append(wrong, e)
	}
	listed := false
	for len(wrong) < maxConfigErrors && l.nextLine() {
		k := FindKey(l.words[0])
		if k == nil {
			add("", l.unknownKey(!listed))
			listed = true
			continue
		}
		if old := c.Get(k.Name); old != nil {
			add("", l.errorf(0, "%s is given twice; the first is in line %d", k.Name, old.Line))
			continue
		}
		s, err := k.readValue(l)
		if err != nil {
			add(k.Name, err)
			continue
		}
		c = append(c, s)
	}
	if err := l.scanError(); err != nil {
		add("", err)
	}
	if len(c) == 0 && len(wrong) == 0 {
		add("", l.errorAtEnd("the file is empty; a line is a key and its value, such as CC_MODE 3"))
	}
	if len(wrong) > 0 {
		return c, wrong
	}
	return c, nil
}

// unknownKey returns the error for a line with an unknown key. If a similar key exists it suggests that one; otherwise,
// with list, it names all keys.
func (l *lineReader) unknownKey(list bool) error {
	names := make([]string, 0, len(Keys))
	for i := range Keys {
		names = append(names, Keys[i].Name)
	}
	if near := nearestWord(l.words[0], names); near != "" {
		return l.errorf(0, "unknown key %q; did you mean %s?", l.words[0], near)
	}
	if !list {
		return l.errorf(0, "unknown key %q", l.words[0])
	}
	return l.errorf(0, "unknown key %q; allowed: %s", l.words[0], strings.Join(names, ", "))
}

// readValue reads the value of the key on the current line. Missing and excess words are errors.
func (k *Key) readValue(l *lineReader) (Setting, error) {
	s := Setting{Key: k.Name, Line: l.line}
	if len(l.words) == 1 {
		return s, l.errorAtEnd("the line ends; %s needs %s", k.Name, k.describeValue())
	}
	s.Column = l.wordColumn(1)
	words := 2
	var err error
	switch k.Kind {
	case Flag, Count, Fraction:
		if s.Number, err = parseDecimal(l.words[1]); err != nil || !(s.Number >= k.Low && s.Number <= k.High) ||
			k.Kind != Fraction && s.Number != float64(int64(s.Number)) {
			return s, k.invalidValue(l, 1)
		}
	case Rate:
		if s.Rate, err = parseRate(l.words[1]); errors.Is(err, unit.ErrTooLarge) {
			return s, k.tooLarge(l, unit.Rate(math.MaxInt64))
		} else if err != nil {
			return s, k.invalidValue(l, 1)
		}
	case Delay:
		s.Time, err = unit.ParseTime(l.words[1])
		if errors.Is(err, unit.ErrTooLarge) || s.Time == unit.Never {
			return s, k.tooLarge(l, unit.Never-1)
		} else if err != nil {
			return s, k.invalidValue(l, 1)
		}
	case Micros:
		s.Time, err = k.readPeriod(l, "us")
	case Nanos:
		s.Time, err = k.readPeriod(l, "ns")
	case Seconds:
		s.Time, err = k.readPeriod(l, "s")
	case File:
		s.Text = l.words[1]
	case RateMap:
		words, err = k.readRates(l, &s)
	case Failure:
		if words = 4; len(l.words) >= words {
			err = k.readFailure(l, &s)
		}
	}
	switch {
	case err != nil:
		return s, err
	case len(l.words) < words:
		return s, l.errorAtEnd("the line ends after %d of %d words; %s needs %s", len(l.words), words, k.Name,
			k.describeValue())
	case len(l.words) > words:
		return s, l.errorf(words, "%q stands behind the value of %s", l.words[words], k.Name)
	}
	return s, nil
}

// invalidValue returns the error for a word that is not a valid value of the key.
func (k *Key) invalidValue(l *lineReader, word int) error {
	return l.errorf(word, "%s is %q; %s is allowed", k.Name, l.words[word], k.describeValue())
}

// readPeriod reads a time given as a number of the unit, "us", "ns" or "s", in the second word of the line.
func (k *Key) readPeriod(l *lineReader, unitName string) (unit.Time, error) {
	if strings.Trim(l.words[1], "0123456789.") != "" {
		return 0, k.invalidValue(l, 1)
	}
	t, err := unit.ParseTime(l.words[1] + unitName)
	if errors.Is(err, unit.ErrTooLarge) || t == unit.Never {
		each, _ := unit.ParseTime("1" + unitName)
		return t, l.errorf(1, "%s is %q; %s is allowed, at most %d", k.Name, l.words[1], k.describeValue(),
			(unit.Never-1)/each)
	}
	if err != nil {
		return t, k.invalidValue(l, 1)
	}
	return t, nil
}

// tooLarge returns the error for a value above limit, in the second word of the line.
func (k *Key) tooLarge(l *lineReader, limit fmt.Stringer) error {
	return l.errorf(1, "%s is %q; %s is allowed, at most %v", k.Name, l.words[1], k.describeValue(), limit)
}

// readRates reads the number of rates, then each rate with its value, into s.Map as far as the line goes. It returns
// the number of words that the line must have.
func (k *Key) readRates(l *lineReader, s *Setting) (words int, err error) {
	n, err := l.readNumber(1, "the number of rates of "+k.Name, 0, maxRates)
	if err != nil {
		return 0, err
	}
	words = 2 + 2*int(n)
	for i := 2; i < min(words, len(l.words)); i++ {
		if i%2 == 0 {
			rate, err := l.readNumber(i, "a rate of "+k.Name+" in bit/s", 1, 1<<50)
			if err != nil {
				return words, err
			}
			for _, old := range s.Map {
				if old.Rate == unit.Rate(rate) {
					return words, l.errorf(i, "%s has the rate %d twice", k.Name, rate)
				}
			}
			s.Map = append(s.Map, RateValue{Rate: unit.Rate(rate)})
			continue
		}
		v, err := parseDecimal(l.words[i])
		if err != nil || !(v >= k.Low && v <= k.High) {
			return words, l.errorf(i, "a value of %s is %q; a number from %v to %v is allowed", k.Name, l.words[i], k.Low,
				k.High)
		}
		s.Map[len(s.Map)-1].Value = v
	}
	return words, nil
}

// readFailure reads the time of a link failure and the two nodes of the link into s. The line must have these words.
func (k *Key) readFailure(l *lineReader, s *Setting) (err error) {
	if s.Time, err = k.readPeriod(l, "us"); err != nil {
		return err
	}
	for e := range s.Ends {
		n, err := l.readNumber(2+e, "a node of "+k.Name, 0, maxNode)
		if err != nil {
			return err
		}
		s.Ends[e] = int(n)
	}
	return nil
}

// describeValue describes the values that the key allows.
func (k *Key) describeValue() string {
	switch k.Kind {
	case Flag:
		return "0 or 1"
	case Count:
		if k.Name == "CC_MODE" {
			return ModeNames
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

// parseDecimal parses a decimal number. It accepts no hexadecimal, infinite or NaN values, for which it returns an
// error.
func parseDecimal(s string) (float64, error) {
	if strings.Trim(s, "0123456789.eE+-") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(s, 64)
}

// rateUnits are the decimal bit units of ns-3's DataRate. A longer unit precedes its suffixes.
var rateUnits = []struct {
	name string
	unit string
}{{"Gb/s", "Gbps"}, {"Gbps", "Gbps"}, {"Mb/s", "Mbps"}, {"Mbps", "Mbps"}, {"kb/s", "kbps"}, {"Kb/s", "kbps"},
	{"kbps", "kbps"}, {"Kbps", "kbps"}, {"b/s", "bps"}, {"bps", "bps"}}

// parseRate parses a rate in one of the rateUnits. It returns unit.ErrTooLarge for an excessive rate, and another error
// for other texts.
func parseRate(s string) (unit.Rate, error) {
	for _, u := range rateUnits {
		if number, ok := strings.CutSuffix(s, u.name); ok && number != "" && strings.Trim(number, "0123456789.") == "" {
			return unit.ParseRate(number + u.unit)
		}
	}
	return 0, strconv.ErrSyntax
}

// write writes the settings in their order so that ReadConfig reads the same. An unknown key is an error.
func (c Config) write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for i := range c {
		s := &c[i]
		k := FindKey(s.Key)
		if k == nil {
			return fmt.Errorf("simfiles: %q is no key of a config.txt", s.Key)
		}
		fmt.Fprintf(b, "%s %s\n", s.Key, k.formatValue(s))
	}
	return b.Flush()
}

// formatValue returns the value of the setting as a config.txt has it. s must be of this key.
func (k *Key) formatValue(s *Setting) string {
	plain := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	// in returns the time in the unit each, exactly.
	in := func(each unit.Time) string {
		text := strconv.FormatInt(int64(s.Time/each), 10)
		if rest := s.Time % each; rest > 0 {
			fraction := strconv.FormatInt(int64(each+rest), 10)[1:] // with leading zeros; each is a power of ten
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

// nearestWord returns the word of the list that differs from s in at most a third of its letters and in fewer than any
// other word; "" without one.
func nearestWord(s string, list []string) string {
	best, name := 1+min(len(s), 64)/3, ""
	for _, other := range list {
		if d := editDistance(s, other, best); d < best {
			best, name = d, other
		}
	}
	return name
}

// editDistance returns the Levenshtein distance of a and b, or limit if it is not below limit. It counts bytes.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
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
	return min(row[len(b)], limit)
}
