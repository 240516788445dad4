package simfiles

import "strings"

// defaults are what the simulator takes for keys that a file does not have (HPCC simulator third.cc).
// Without RATE_AI and RATE_HAI, the thresholds of marks and the files that it reads it does not start.
// An L2_ACK_INTERVAL of 0 and an RP_TIMER of 0 end no flow, and no run.
const defaults = `ENABLE_QCN 1
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

// Complete is c with what the simulator takes for keys that c does not have, where that is
// something. Those settings have no line.
func (c Config) Complete() Config {
	all, err := ReadConfig(strings.NewReader(defaults), "")
	if err != nil {
		panic(err) // the text above is a configuration
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

// Value is the value as a file has it.
func (s *Setting) Value() string { return KeyByName(s.Key).write(s) }
