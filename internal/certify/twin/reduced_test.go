package twin_test

import "os"

// reduced says that tests read a part of the demo corpus: under the race detector, and where the shared corpora are
// missing, so that the tests of a clean clone take minutes. The whole is tested with the corpora.
var reduced = underRace || os.Getenv("SEATRIAL_SHARED") == ""
