package simfiles

import "strings"

// defaultConfig holds the simulator's values for missing keys (HPCC simulator third.cc). The simulator does not start
// without RATE_AI, RATE_HAI, the marking thresholds and its input files. With an L2_ACK_INTERVAL of 0 no flow ends,
// and with an RP_TIMER of 0 no run ends.
const defaultConfig = `ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PAUSE_TIME 5
PACKET_PAYLOAD_SIZE 1000
FCT_OUTPUT_FILE fct.txt
PFC_OUTPUT_FILE pfc.txt
SIMULATOR_STOP_TIME 3.01
CC_MODE 1
ALPHA_RESUME_INTERVAL 55
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
EWMA_GAIN 0
FAST_RECOVERY_TIMES 5
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0
L2_CHUNK_SIZE 0
L2_BACK_TO_ZERO 0
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 5
INT_MULTI 1
MULTI_RATE 1
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
ENABLE_TRACE 1
BUFFER_SIZE 16
QLEN_MON_START 2000000000
QLEN_MON_END 2100000000
`

// WithDefaults returns a copy of c with the simulator's defaults for keys that c lacks. Those settings have line 0, and
// follow the settings of c.
func (c Config) WithDefaults() Config {
	all, err := ReadConfig(strings.NewReader(defaultConfig), "")
	if err != nil {
		panic(err) // the constant is a valid configuration
	}
	out := append(Config{}, c...)
	for _, s := range all {
		if c.Get(s.Key) == nil {
			s.Line, s.Column = 0, 0
			out = append(out, s)
		}
	}
	return out
}

// FormatValue returns the value in the form of a config.txt. The setting's key must be one of Keys.
func (s *Setting) FormatValue() string { return FindKey(s.Key).formatValue(s) }
