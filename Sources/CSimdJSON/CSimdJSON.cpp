#include <simdjson.h>
#include "CSimdJSON.h"
