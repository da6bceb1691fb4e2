//! Formatted texts of numbers.

use super::spec::{FormatError, ValueFormat};
use super::sprintf;
use crate::text::ruby_float;

const OF_INTEGERS: &str = "dxXobBeEfgGaAspc";
const OF_FLOATS: &str = "dxXobBeEfgGaAsp";

pub(super) fn integer(number: i64, format: &ValueFormat) -> Result<String, FormatError> {
    match format.letter {
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' => sprintf::integer(format, number.into()),
        'p' => sprintf::text(format, &number.to_string()),
        'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => {
            #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
            let number = number as f64;
            sprintf::float(format, number)
        }
        'c' => {
            let c = u32::try_from(number)
                .ok()
                .and_then(char::from_u32)
                .ok_or(FormatError::NotACharacter)?;
            let text = if format.alt {
                format!("\"{c}\"")
            } else {
                c.to_string()
            };
            sprintf::text(format, &text)
        }
        's' if format.alt => sprintf::text(format, &format!("\"{number}\"")),
        's' => sprintf::text(format, &number.to_string()),
        letter => Err(FormatError::Illegal {
            ty: "Integer",
            letter,
            expected: OF_INTEGERS,
        }),
    }
}

pub(super) fn float(number: f64, format: &ValueFormat) -> Result<String, FormatError> {
    match format.letter {
        'd' | 'x' | 'X' | 'o' | 'b' | 'B' => {
            if !number.is_finite() {
                return Err(FormatError::NotANumber(ruby_float(number), "Integer"));
            }
            #[expect(
                clippy::cast_possible_truncation,
                reason = "what does not fit is cut off at the ends of 128 bits"
            )]
            let whole = number.trunc() as i128;
            sprintf::integer(format, whole)
        }
        'e' | 'E' | 'f' | 'g' | 'G' | 'a' | 'A' => sprintf::float(format, number),
        'p' => sprintf::text(format, &ruby_float(number)),
        's' if format.alt => sprintf::text(format, &format!("\"{}\"", ruby_float(number))),
        's' => sprintf::text(format, &ruby_float(number)),
        letter => Err(FormatError::Illegal {
            ty: "Float",
            letter,
            expected: OF_FLOATS,
        }),
    }
}
