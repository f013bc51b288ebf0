;; Gives back its argument, a record of every kind of type, which crosses by memory for its size.
(component
  (core module $module
    (memory (export "memory") 16)
    (global $next (mut i32) (i32.const 1024))
    (func (export "realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
      (local $at i32)
      (local.set $at
        (i32.and
          (i32.sub (i32.add (global.get $next) (local.get $align)) (i32.const 1))
          (i32.sub (i32.const 0) (local.get $align))))
      (global.set $next (i32.add (local.get $at) (local.get $size)))
      (local.get $at))
    (func (export "echo") (param i32) (result i32) (local.get 0)))
  (core instance $core (instantiate $module))

  (type $choice' (variant (case "nothing") (case "by-number" u64) (case "maybe" (option u8))))
  (import "choice" (type $choice (eq $choice')))
  (type $color' (enum "red" "dark-blue"))
  (import "color" (type $color (eq $color')))
  (type $perms' (flags "read" "write-all"))
  (import "perms" (type $perms (eq $perms')))
  (type $point' (record (field "x" s32) (field "label" (option string))))
  (import "point" (type $point (eq $point')))
  (type $everything' (record
    (field "flag" bool) (field "tiny" s8) (field "small" u8) (field "short" s16) (field "count" u16)
    (field "int" s32) (field "uint" u32) (field "long" s64) (field "ulong" u64)
    (field "single" f32) (field "double" f64) (field "letter" char) (field "text" string)
    (field "bytes" (list u8)) (field "words" (list string)) (field "points" (list $point))
    (field "pair" (tuple u8 f64)) (field "choices" (list $choice)) (field "color" $color) (field "perms" $perms)
    (field "maybe-point" (option $point)) (field "perhaps" (option (option u32)))
    (field "outcome" (result u32 (error string))) (field "unit" (result))))
  (import "everything" (type $everything (eq $everything')))

  (func (export "echo") (param "all" $everything) (result $everything)
    (canon lift (core func $core "echo") (memory $core "memory") (realloc (func $core "realloc")))))
